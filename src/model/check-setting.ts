import { endpointName } from './destination.ts'
import { SettingError } from './error.ts'
import { nearestName } from './nearest-name.ts'
import { parseUrl } from './parse-url.ts'

/** Returns the value if it is a whole number in the range of the setting. Otherwise throws SettingError. */
export function checkWholeNumber(
  setting: string,
  value: unknown,
  [lowest, highest]: readonly [number, number],
): number {
  if (Number.isSafeInteger(value) && (value as number) >= lowest && (value as number) <= highest) {
    return value as number
  }
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
  throw new SettingError(
    setting,
    `Cannot use ${setting} ${shown}: it must be a whole number from ${lowest} to ${highest}`,
  )
}

/** Throws SettingError for an unknown option, so that JavaScript callers notice a misspelt name. */
export function checkOptionNames<Options extends object>(
  options: Options,
  known: Readonly<Record<keyof Options, true>>,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  const names = Object.keys(known)
  const near = nearestName(unknown, names)
  throw new SettingError(
    unknown,
    `Cannot use the option ${unknown}: no such option exists`,
    near === undefined ? `The options are ${names.join(', ')}.` : `Did you mean ${near}?`,
  )
}

/** Returns an http or https URL without its fragment. Throws SettingError for other URLs, and for credentials. */
export function checkUrl(setting: string, text: unknown): string {
  const url = typeof text === 'string' ? parseUrl(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SettingError(
      setting,
      `Cannot send to "${endpointName(String(text))}": it is not a full http or https URL`,
      'Write the URL with its scheme, such as https://example.com/hook.',
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new SettingError(
      setting,
      `Cannot send to ${url.host}: its URL contains a user name or password`,
      'Remove them from the URL. A webhook can carry them in a static header.',
    )
  }
  url.hash = ''
  return url.href
}
