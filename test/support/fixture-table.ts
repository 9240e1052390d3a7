import { readFileSync } from 'node:fs'
import { fixture } from './fixtures.ts'

/** The rows that an import of a fixture yields. */
export interface FixtureRows {
  /** The path, relative to fixtures/. */
  readonly file: string
  readonly goodRows: number
  readonly badRows: readonly { readonly line: number; readonly code: string }[]
}

/** Reads the table in fixtures/README.md. */
export function fixtureTable(): readonly FixtureRows[] {
  const table = readFileSync(fixture('README.md'), 'utf8').matchAll(
    /^\| `(?<file>[^`]+)` \|[^|]*\| (?<goodRows>\d+) \|(?<badRows>[^|]*)\|$/gm,
  )
  return [...table].map(({ groups: { file = '', goodRows = '', badRows = '' } = {} }) => ({
    file,
    goodRows: Number(goodRows),
    badRows: [...badRows.matchAll(/(\d+) `(\w+)`/g)].map(([, line = '', code = '']) => ({
      line: Number(line),
      code,
    })),
  }))
}
