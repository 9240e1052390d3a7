import { SettingError } from './error.ts'

/**
 * Checks a whole number against the range that its setting accepts.
 *
 * @param setting - the setting's name, as the caller wrote it
 * @returns the number
 * @throws SettingError `invalid_setting`
 */
export function checkWholeNumber(
  setting: string,
  value: unknown,
  [lowest, highest]: readonly [number, number],
): number {
  if (Number.isSafeInteger(value) && (value as number) >= lowest && (value as number) <= highest) {
    return value as number
  }
  throw new SettingError(
    setting,
    `Cannot use ${setting} ${String(value)}: it is a whole number from ${lowest} to ${highest}`,
  )
}
