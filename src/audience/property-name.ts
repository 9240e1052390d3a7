import { snakeCase } from 'change-case'

/** Upper bound of the length of a key. */
const keyLengthMax = 255

/**
 * Makes the trait of an audience or a computed trait in identify calls: its name in snake case, as the
 * library `change-case` makes it.
 *
 * A word ends at a character that is neither a letter of any script nor a digit, and before a capital letter
 * behind a small one or a digit. Words are joined by underscores, in small letters. Letters behind digits
 * belong to them: `Order Completed Last 30days` is `order_completed_last_30days`. Combining accents are
 * composed first, so that names that look the same make the same trait.
 *
 * @returns undefined if the result is empty
 */
export function propertyName(name: string): string | undefined {
  // Not by the locale, which would make another trait of the same name elsewhere.
  const property = snakeCase(name.normalize('NFC'), { locale: false })
  return property === '' ? undefined : property
}

/**
 * Checks a key: 1 to 255 characters, no control characters or lone surrogates, no outer blanks. `.` and `..`
 * are refused because they do not work in the path of a URL, `email` because calls have the address of a
 * member there.
 *
 * @returns the problem as a sentence without its period; undefined for a valid key
 */
export function checkKey(key: string): string | undefined {
  if (key === '') return 'The key is empty'
  if (key.length > keyLengthMax) return `The key has more than ${keyLengthMax} characters`
  if (/[\p{Cc}\p{Cs}]/u.test(key)) return 'The key has control characters'
  if (key.trim() !== key) return 'The key has blanks around it'
  if (key === 'email') return 'The key cannot be "email": that trait has the address of a member'
  return key === '.' || key === '..' ? `The key cannot be "${key}"` : undefined
}
