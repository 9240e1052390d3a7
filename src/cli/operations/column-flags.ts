import { SettingError } from '../../model/index.ts'

const flags = new Map([
  ['idColumn', '--id-column'],
  ['valueColumn', '--value-column'],
])

/** Adds the name of the flag to an error about a missing column. Returns other errors unchanged. */
export function namingColumnFlag(error: unknown): unknown {
  if (!(error instanceof SettingError)) return error
  const { setting, message, hint } = error
  return new SettingError(
    flags.get(setting) ?? setting,
    withFlag(message),
    hint === undefined ? undefined : withFlag(hint),
  )
}

/** The sentences about columns end with the name of the setting. */
function withFlag(text: string): string {
  return text.replace(
    /(?<=with )(?:idColumn|valueColumn)(?=\.?$)/,
    (setting) => flags.get(setting) ?? setting,
  )
}
