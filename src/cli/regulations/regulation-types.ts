import type { RegulationType } from '../../model/index.ts'

/** A one-line description of each type of regulation. */
export const regulationTexts: Readonly<Record<RegulationType, string>> = {
  SUPPRESS_WITH_DELETE: 'erase what is kept, tell destinations, and drop later calls',
  SUPPRESS_WITH_DELETE_INTERNAL: 'erase what is kept and drop later calls, telling nobody',
  SUPPRESS_ONLY: 'drop later calls',
  DELETE_ONLY: 'erase what is kept, and tell destinations',
  DELETE_INTERNAL: 'erase what is kept, telling nobody',
  DELETE_ARCHIVE_ONLY: 'take events out of archives, and nothing else',
  UNSUPPRESS: 'accept later calls again',
}

/** All types with their descriptions, one per line. */
export function regulationTypesText(): string {
  const names = Object.keys(regulationTexts)
  const width = Math.max(...names.map(({ length }) => length))
  return Object.entries(regulationTexts)
    .map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
    .join('\n')
}
