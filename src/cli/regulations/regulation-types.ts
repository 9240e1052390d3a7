import type { RegulationType } from '../../model/index.ts'

/** A one-line description of each type of regulation. */
export const regulationTexts: Readonly<Record<RegulationType, string>> = {
  SUPPRESS_WITH_DELETE: 'erase, notify destinations, drop later calls',
  SUPPRESS_WITH_DELETE_INTERNAL: 'erase, drop later calls, send no notifications',
  SUPPRESS_ONLY: 'drop later calls',
  DELETE_ONLY: 'erase, notify destinations',
  DELETE_INTERNAL: 'erase, send no notifications',
  DELETE_ARCHIVE_ONLY: 'erase events from archives only',
  UNSUPPRESS: 'resume accepting calls',
}

/** Lists all types with their descriptions, one per line. */
export function regulationTypesText(): string {
  const names = Object.keys(regulationTexts)
  const width = Math.max(...names.map(({ length }) => length))
  return Object.entries(regulationTexts)
    .map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
    .join('\n')
}
