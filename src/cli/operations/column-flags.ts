import { SettingError } from '../../model/index.ts'

const flags = new Map([
  ['idColumn', '--id-column'],
  ['valueColumn', '--value-column'],
])

/** The error about a column that a list does not have, with the flag that names the column; others as they are. */
export function namingColumnFlag(error: unknown): unknown {
  if (!(error instanceof SettingError)) return error
  const { setting, message, hint } = error
  return new SettingError(
    flags.get(setting) ?? setting,
    withFlag(message),
    hint === undefined ? undefined : withFlag(hint),
  )
}

/** Sentences about columns end with what names them. */
function withFlag(text: string): string {
  return text.replace(
    /(?<=with )(?:idColumn|valueColumn)(?=\.?$)/,
    (setting) => flags.get(setting) ?? setting,
  )
}
