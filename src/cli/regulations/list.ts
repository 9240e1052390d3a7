import { recordLine } from '../../model/index.ts'
import { formatSpan } from '../delivery-log/moments.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import type { ListedRegulation } from '../operations/read-records.ts'
import type { ReadersRun } from '../operations/run-readers.ts'
import { formatCount } from '../output/numbers.ts'
import { textTable, type TableColumn } from '../output/table.ts'
import { statusLooks } from './regulation-text.ts'

/** Regulations per request. */
const pageRegulationsMax = 100

/** The length of an id. Ids are never cut: other commands need them. */
const idColumns = 31

/** Lists regulations, newest first. Says so if there are more than the limit. */
export async function listRegulations(
  { limit }: { readonly limit: number },
  run: ReadersRun,
): Promise<ExitCode> {
  const { io, json, nowMs, style, columns } = run
  // Ask for one more, to learn whether there are more.
  const found = await newest(limit + 1, run)
  const shown = found.slice(0, limit)
  if (json) await writeData(io, shown.map(({ record }) => recordLine(record)).join(''))
  else if (shown.length === 0) io.stderr.write('There is no regulation yet\n')
  else await writeData(io, textTable(shown, tableColumns(nowMs), { style, columns }))
  if (found.length > limit) io.stderr.write(`... and more; --limit ${limit * 10}\n`)
  return exitCodes.ok
}

async function newest(
  count: number,
  { regulations, io }: ReadersRun,
): Promise<readonly ListedRegulation[]> {
  const found: ListedRegulation[] = []
  while (found.length < count && !io.stop.aborted) {
    const limit = Math.min(count - found.length, pageRegulationsMax)
    const page = await regulations.list({ limit, beforeId: found.at(-1)?.fields.id })
    found.push(...page)
    if (page.length < limit) break
  }
  return found
}

/** The most important column first. */
function tableColumns(nowMs: number): readonly TableColumn<ListedRegulation>[] {
  return [
    { title: 'regulation', text: ({ fields }) => fields.id, look: 'strong', columnsMin: idColumns },
    {
      title: 'status',
      text: ({ fields }) => fields.overallStatus,
      look: ({ fields }) => statusLooks[fields.overallStatus],
    },
    { title: 'users', text: ({ subjects }) => formatCount(subjects), isCount: true },
    { title: 'made', text: ({ fields }) => `${formatSpan(nowMs - fields.createdAt)} ago` },
    { title: 'type', text: ({ fields }) => fields.regulationType },
  ]
}
