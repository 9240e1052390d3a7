import { readFileSync } from 'node:fs'
import { fixture } from './fixtures.ts'

/** What a file of fixtures/ gives. */
export interface FixtureRows {
  /** Its path below fixtures/. */
  readonly file: string
  readonly goodRows: number
  readonly badRows: readonly { readonly line: number; readonly code: string }[]
}

/** The table of fixtures/README.md. */
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
