import { snakeCase } from 'change-case'

const keyLengthMax = 255

/**
 * Derives a key from the name of an audience or computed trait: its words in lower case, joined with underscores.
 * `Order Completed Last 30days` becomes `order_completed_last_30days`. Returns undefined if the name has no words.
 * Words consist of letters of any script and the digits 0 to 9. A capital letter begins a new word after a small letter
 * or a digit. The last of several capitals begins a new word if a small letter follows: `ABTest` becomes `ab_test`.
 * Combining accents are composed first, so that names that look the same have the same key.
 */
export function propertyName(name: string): string | undefined {
  // Ignore the locale, so that a name has the same key everywhere.
  const property = snakeCase(name.normalize('NFC'), { locale: false })
  return property === '' ? undefined : property
}

/** Returns why a key cannot be used, as a sentence without a period. `.` and `..` don't work in the path of a URL. */
export function checkKey(key: string): string | undefined {
  if (key === '') return 'The key is empty'
  if (key.length > keyLengthMax) return `The key has more than ${keyLengthMax} characters`
  if (/[\p{Cc}\p{Cs}]/u.test(key)) return 'The key contains control characters'
  if (key.trim() !== key) return 'The key begins or ends with a space'
  if (key === 'email')
    return 'The key cannot be "email": that trait holds the email address of the member'
  return key === '.' || key === '..' ? `The key cannot be "${key}"` : undefined
}
