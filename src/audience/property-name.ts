import { snakeCase } from 'change-case'

/** Characters of a key at the most. */
const keyLengthMax = 255

/**
 * The property that stands for an audience or a computed trait in identify calls: its name in snake
 * case, as the library `change-case` makes it.
 *
 * Words end at everything that is neither a letter, of any script, nor a digit, and where a capital
 * letter follows a small one or a digit; they are joined by underscores, in small letters. Digits are
 * not parted from the letters behind them: `Order Completed Last 30days` is
 * `order_completed_last_30days`. Accents that are characters of their own are put together with their
 * letters before, so that names that look the same make the same property.
 *
 * @returns undefined where nothing is left
 */
export function propertyName(name: string): string | undefined {
  // The letters of the machine's language would make another property of the same name elsewhere.
  const property = snakeCase(name.normalize('NFC'), { locale: false })
  return property === '' ? undefined : property
}

/**
 * Checks a key: 1 to 255 characters, none of them a control character or half of one, no blanks around
 * it. `.` and `..` cannot be keys, since they cannot stand in the path of a URL; nor can `email`, since
 * calls have the address of a member there.
 *
 * @returns what is wrong with it, as a sentence without its final period; undefined for a sound key
 */
export function checkKey(key: string): string | undefined {
  if (key === '') return 'The key is empty'
  if (key.length > keyLengthMax) return `The key has more than ${keyLengthMax} characters`
  if (/[\p{Cc}\p{Cs}]/u.test(key)) return 'The key has control characters'
  if (key.trim() !== key) return 'The key has blanks around it'
  if (key === 'email') return 'The key cannot be "email": that trait has the address of a member'
  return key === '.' || key === '..' ? `The key cannot be "${key}"` : undefined
}
