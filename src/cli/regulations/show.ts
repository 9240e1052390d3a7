import type { AnswerRecord, ListedRegulationFields } from '../../admin-api/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import type { OverallStatus } from '../../privacy/index.ts'
import { openDeliveryLog } from '../../store/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import type { StoreValues } from '../flags.ts'
import { writeData, type Io } from '../io.ts'
import { usageError } from '../output/error.ts'
import { formatPast, formatSpan, momentOf } from '../output/moments.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { pairsText, textTable, type TableColumn } from '../output/table.ts'
import { pagesOf, storeUrlOf, type ReadersRun } from '../store-access/readers.ts'
import { regulationTexts } from './regulation-types.ts'

const pageRegulationsMax = 100

/** The length of an id. Ids are never cut, because other commands need them. */
const idColumns = 31

/** Lists regulations, newest first. If there are more than the limit, says so on stderr. */
export async function listRegulations(
  { limit }: { readonly limit: number },
  run: ReadersRun,
): Promise<ExitCode> {
  const { regulations, io, json, nowMs } = run
  const found: ListedRegulationFields[] = []
  // Ask for one more than the limit, to find out whether there are more.
  const paging = { limit: limit + 1, pageMax: pageRegulationsMax, stop: io.stop }
  const pages = pagesOf<ListedRegulationFields>(paging, (count, last) =>
    regulations.list({ limit: count, beforeId: last?.id }),
  )
  for await (const page of pages) found.push(...page)
  const shown = found.slice(0, limit)
  if (json) await writeData(io, shown.map(recordLine).join(''))
  else if (shown.length === 0) io.stderr.write('There are no regulations yet\n')
  else await writeData(io, textTable(shown, tableColumns(nowMs), run))
  if (found.length > limit) io.stderr.write('... and more; see --limit\n')
  return exitCodes.ok
}

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

/** Shows a regulation, what it has erased and sent, and its users. */
export async function showRegulation(id: string, run: ReadersRun): Promise<ExitCode> {
  const { regulations, io, json } = run
  const found = await regulations.find(id)
  if (found === undefined) {
    const hint = 'See `evroute regulations list` for the ids.'
    throw usageError(`There is no regulation "${plainText(id)}"`, hint)
  }
  await writeData(io, json ? recordLine(found) : regulationText(found, found.subjectIds, run))
  return exitCodes.ok
}

/** Releases an archive, so that no regulation waits for it. */
export async function releaseArchive(name: string, values: StoreValues, io: Io): Promise<ExitCode> {
  const log = await openDeliveryLog(await storeUrlOf(values, io), { write: true })
  try {
    const isReleased = await log.sharedRegulations?.release({ name })
    if (isReleased !== true) {
      throw usageError(
        `No regulation is waiting for an archive "${plainText(name)}"`,
        'Pass the name that `evroute regulations show <id>` prints. Regulations wait for archives only if the store is in PostgreSQL.',
      )
    }
  } finally {
    await log.close()
  }
  io.stderr.write(`No regulation waits for the archive ${plainText(name)} any longer\n`)
  return exitCodes.ok
}

type RegulationView = Pick<ReadersRun, 'style' | 'columns' | 'nowMs'>

const statusLooks: Readonly<Record<OverallStatus, keyof Style>> = {
  INITIALIZED: 'warning',
  RUNNING: 'warning',
  FINISHED: 'good',
  PARTIAL_SUCCESS: 'bad',
  FAILED: 'bad',
}

/** Maximum number of users to show. The JSON record contains all. */
const usersShownMax = 20

type ShownStream = ReturnType<typeof streamsOf>[number]

const streamColumns: readonly TableColumn<ShownStream>[] = [
  { title: 'source', text: ({ source }) => source },
  { title: 'destination', text: ({ id }) => id },
  { title: 'status', text: ({ status }) => status, look: ({ status }) => statusLooks[status] },
  ...(['delivered', 'pending', 'failed', 'expired'] as const).map((title) => ({
    title,
    text: (stream: ShownStream) => formatCount(stream[title]),
    isCount: true,
  })),
]

/** Formats a regulation, and what it has erased and sent. `users` are the ids of the users, or the number of them. */
export function regulationText(
  fields: AnswerRecord<'regulation'>,
  users: readonly string[] | number,
  view: RegulationView,
): string {
  const pairs = pairsText(pairsOf(fields, users, view), view.style)
  const streams = streamsOf(fields)
  return streams.length === 0 ? pairs : `${pairs}\n${textTable(streams, streamColumns, view)}`
}

function pairsOf(
  fields: AnswerRecord<'regulation'>,
  users: readonly string[] | number,
  { style, nowMs }: RegulationView,
): readonly (readonly [string, string])[] {
  const { id, regulationType, overallStatus, sources, createdAt, finishedAt } = fields
  const moment = (at: string | null): string => formatPast(momentOf(at), nowMs)
  return [
    ['Regulation', style.strong(plainText(id))],
    ['Type', `${regulationType}: ${regulationTexts[regulationType]}`],
    ['Status', style[statusLooks[overallStatus]](overallStatus)],
    ['Users', usersText(users, style)],
    ['Sources', sources === null ? 'all' : plainText(sources.join(', '))],
    ['Made', moment(createdAt)],
    ['Finished', finishedAt === null ? 'not yet' : moment(finishedAt)],
    ...erasedPairs(fields),
    ...fields.archivesLeft.map(
      (name) => ['Waits for', style.warning(`the archive ${plainText(name)}`)] as const,
    ),
    ...(fields.archive?.problems ?? []).map(
      (problem) => ['', style.bad(plainText(problem))] as const,
    ),
  ]
}

function usersText(users: readonly string[] | number, style: Style): string {
  if (typeof users === 'number') return formatCount(users)
  const shown = users.slice(0, usersShownMax).map((id) => style.name(plainText(id)))
  const others = users.length - shown.length
  const rest = others > 0 ? ` and ${formatCount(others)} more; --json shows them all` : ''
  return `${formatCount(users.length)}: ${shown.join(', ')}${rest}`
}

function erasedPairs({
  erased,
  archive,
}: AnswerRecord<'regulation'>): (readonly [string, string])[] {
  const { pending, settled, members } = erased
  const waiting = countOf(pending, 'waiting delivery', 'waiting deliveries')
  const past = countOf(settled, 'past delivery', 'past deliveries')
  const pairs: [string, string][] = [
    ['Store', `${waiting}, ${past}, ${countOf(members, 'membership')} erased`],
  ]
  if (archive === null) return pairs
  const events = `${countOf(archive.events, 'event')} in ${countOf(archive.files, 'file')} erased`
  return [...pairs, ['Archives', events]]
}

function streamsOf({ streamStatus }: AnswerRecord<'regulation'>) {
  return streamStatus.flatMap(({ id: source, destinationStatus }) =>
    destinationStatus.map((status) => ({ source, ...status })),
  )
}
