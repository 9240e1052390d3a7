import { EvrouteError, plainText, recordLine } from '../../model/index.ts'
import type { ListedRegulationFields } from '../../privacy/index.ts'
import { openDeliveryLog } from '../../store/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { formatSpan } from '../output/moments.ts'
import { formatCount } from '../output/numbers.ts'
import { textTable, type TableColumn } from '../output/table.ts'
import { storeUrlOf, type StoreAccess } from '../store-access/access.ts'
import type { ReadersRun } from '../store-access/readers.ts'
import { momentOf, regulationText, statusLooks } from './regulation-text.ts'

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
  if (json) await writeData(io, shown.map(recordLine).join(''))
  else if (shown.length === 0) io.stderr.write('There is no regulation yet\n')
  else await writeData(io, textTable(shown, tableColumns(nowMs), { style, columns }))
  if (found.length > limit) io.stderr.write(`... and more; --limit ${limit * 10}\n`)
  return exitCodes.ok
}

async function newest(
  count: number,
  { regulations, io }: ReadersRun,
): Promise<readonly ListedRegulationFields[]> {
  const found: ListedRegulationFields[] = []
  while (found.length < count && !io.stop.aborted) {
    const limit = Math.min(count - found.length, pageRegulationsMax)
    const page = await regulations.list({ limit, beforeId: found.at(-1)?.id })
    found.push(...page)
    if (page.length < limit) break
  }
  return found
}

/** The most important column first. */
function tableColumns(nowMs: number): readonly TableColumn<ListedRegulationFields>[] {
  return [
    { title: 'regulation', text: ({ id }) => id, look: 'strong', columnsMin: idColumns },
    {
      title: 'status',
      text: ({ overallStatus }) => overallStatus,
      look: ({ overallStatus }) => statusLooks[overallStatus],
    },
    { title: 'users', text: ({ subjects }) => formatCount(subjects), isCount: true },
    { title: 'made', text: ({ createdAt }) => `${formatSpan(nowMs - momentOf(createdAt))} ago` },
    { title: 'type', text: ({ regulationType }) => regulationType },
  ]
}

/**
 * Shows what a regulation has erased and sent, and its users.
 *
 * @throws EvrouteError `invalid_usage` for an unknown id
 */
export async function showRegulation(id: string, run: ReadersRun): Promise<ExitCode> {
  const { regulations, io, json, nowMs, style, columns } = run
  const found = await regulations.find(id)
  if (found === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: `There is no regulation "${plainText(id)}"`,
      hint: 'See `evroute regulations list` for the ids.',
    })
  }
  const view = { fields: found, users: found.subjectIds, style, columns, nowMs }
  await writeData(io, json ? recordLine(found) : regulationText(view))
  return exitCodes.ok
}

/**
 * Releases an archive that no longer exists, so that regulations stop waiting for it.
 *
 * @throws EvrouteError `invalid_usage` for an unknown archive, or a store without archives
 */
export async function releaseArchive(name: string, access: StoreAccess, io: Io): Promise<ExitCode> {
  const log = await openDeliveryLog(await storeUrlOf(access, io), { write: true })
  try {
    const isReleased = await log.sharedRegulations?.release({ name })
    if (isReleased !== true) throw noArchive(name)
  } finally {
    await log.close()
  }
  io.stderr.write(`No regulation waits for the archive ${plainText(name)} any more\n`)
  return exitCodes.ok
}

function noArchive(name: string): EvrouteError {
  return new EvrouteError({
    code: 'invalid_usage',
    message: `No regulation waits for an archive "${plainText(name)}"`,
    hint: 'Name it as `evroute regulations show <id>` does; only a store in PostgreSQL has archives of others.',
  })
}
