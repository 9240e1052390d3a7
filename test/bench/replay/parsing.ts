import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchCase } from '../report.ts'
import { median } from '../table.ts'
import { historyFormats, type Histories, type HistoryFormat } from './history.ts'
import type { ParserAnswer, ParserName, ParserQuestion } from './parser.ts'

const rows = 1_000_000
const rounds = 5
const warmUpRows = 50_000
const warmUpRounds = 2

const names = ['evroute', 'limit'] as const

type Parser = Program<ParserQuestion, ParserAnswer>

/** Measures how fast a million rows are read, compared with a minimal loop. */
export async function parsingCases(histories: Histories): Promise<readonly BenchCase[]> {
  const evroute = await startParser('evroute')
  const limit = await startParser('limit')
  try {
    const cases: BenchCase[] = []
    for (const format of historyFormats) {
      cases.push(await parsingCase(format, { evroute, limit }, histories))
    }
    return cases
  } finally {
    await evroute.end()
    await limit.end()
  }
}

function startParser(name: ParserName): Promise<Parser> {
  return Program.start(new URL('parser.ts', import.meta.url), name)
}

async function parsingCase(
  format: HistoryFormat,
  parsers: Readonly<Record<ParserName, Parser>>,
  histories: Histories,
): Promise<BenchCase> {
  const parse = async (name: ParserName, count: number): Promise<number> => {
    const path = await histories.of(count, format)
    const answer = await parsers[name].ask({ path, format })
    if (answer.rows !== count) throw new Error(`${name} read ${answer.rows} of ${count} rows`)
    return answer.rowsPerSecond
  }
  await inTurn(names, warmUpRounds, (name) => parse(name, warmUpRows))
  const results = await inTurn(names, rounds, (name) => parse(name, rows))
  const own = results.get('evroute') ?? []
  return {
    name: `parsing, ${format}`,
    rate: median(own),
    unit: 'rows/s',
    beside: { limit: ratiosOf(own, results.get('limit') ?? []) },
  }
}
