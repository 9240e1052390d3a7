import { snakeCase } from 'change-case'

/** The maximum length of a key. */
const keyLengthMax = 255

/**
 * Makes the name of a trait in identify calls from the name of its audience or computed trait: the name in
 * snake case, as the library `change-case` makes it.
 *
 * A word ends at a character that is neither a letter of any script nor a digit, and before a capital letter
 * that follows a small letter or a digit. Underscores join the words, in small letters. Letters after digits
 * belong to the same word: `Order Completed Last 30days` is `order_completed_last_30days`. Combining accents
 * are composed first, so that names that look the same make the same trait.
 *
 * @returns undefined if the result is empty
 */
export function propertyName(name: string): string | undefined {
  // Ignore the locale, so that a name makes the same trait everywhere.
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
