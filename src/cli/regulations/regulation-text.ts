import { plainText } from '../../model/index.ts'
import type { OverallStatus, RegulationFields } from '../../privacy/index.ts'
import { formatSecond, formatSpan } from '../output/moments.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { textTable, type TableColumn } from '../output/table.ts'
import { regulationTexts } from './regulation-types.ts'

/** A regulation, and how it is shown. */
export interface RegulationView {
  readonly fields: RegulationFields
  /** The ids of the users, or their number if the ids are unknown. */
  readonly users: readonly string[] | number
  readonly style: Style
  /** The terminal's width; undefined if lines may have any length. */
  readonly columns: number | undefined
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
}

/** The style of each status. */
export const statusLooks: Readonly<Record<OverallStatus, keyof Style>> = {
  INITIALIZED: 'warning',
  RUNNING: 'warning',
  FINISHED: 'good',
  PARTIAL_SUCCESS: 'bad',
  FAILED: 'bad',
}

/** Maximum number of users to show; the record has all. */
const usersShownMax = 20

/** The notifications from one source to one destination. */
interface ShownStream {
  readonly source: string
  readonly destination: string
  readonly status: OverallStatus
  readonly counts: Readonly<Record<(typeof countNames)[number], number>>
}

const countNames = ['delivered', 'pending', 'failed', 'expired'] as const

const streamColumns: readonly TableColumn<ShownStream>[] = [
  { title: 'source', text: ({ source }) => source },
  { title: 'destination', text: ({ destination }) => destination },
  { title: 'status', text: ({ status }) => status, look: ({ status }) => statusLooks[status] },
  ...countNames.map((name): TableColumn<ShownStream> => ({
    title: name,
    text: ({ counts }) => formatCount(counts[name]),
    isCount: true,
  })),
]

/** The moment in a record, in milliseconds since 1970. */
export function momentOf(at: string | null): number {
  return at === null ? 0 : Date.parse(at)
}

/** The progress of a regulation, for a person. */
export function regulationText(view: RegulationView): string {
  const { style, columns } = view
  const pairs = pairsOf(view).map(([name, text]) => `${style.faint(name.padEnd(13))}${text}\n`)
  const streams = streamsOf(view.fields)
  if (streams.length === 0) return pairs.join('')
  return `${pairs.join('')}\n${textTable(streams, streamColumns, { style, columns })}`
}

function pairsOf(view: RegulationView): readonly (readonly [string, string])[] {
  const { fields, style, nowMs } = view
  const { id, regulationType, overallStatus, sources, createdAt, finishedAt } = fields
  const moment = (at: string | null): string => {
    const atMs = momentOf(at)
    return `${formatSecond(atMs, nowMs)} (${formatSpan(nowMs - atMs)} ago)`
  }
  return [
    ['Regulation', style.strong(plainText(id))],
    ['Type', `${regulationType}: ${regulationTexts[regulationType]}`],
    ['Status', style[statusLooks[overallStatus]](overallStatus)],
    ['Users', usersText(view)],
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

function usersText({ users, style }: RegulationView): string {
  if (typeof users === 'number') return formatCount(users)
  const shown = users.slice(0, usersShownMax).map((id) => style.name(plainText(id)))
  const others = users.length - shown.length
  const rest = others > 0 ? ` and ${formatCount(others)} more; --json has them all` : ''
  return `${formatCount(users.length)}: ${shown.join(', ')}${rest}`
}

function erasedPairs({
  erased,
  archive,
}: RegulationFields): readonly (readonly [string, string])[] {
  const { pending, settled, members } = erased
  const store = [
    countText(pending, 'waiting delivery', 'waiting deliveries'),
    countText(settled, 'past delivery', 'past deliveries'),
    countText(members, 'membership', 'memberships'),
  ]
  const storePair = ['Store', `${store.join(', ')} erased`] as const
  if (archive === null) return [storePair]
  const events = countText(archive.events, 'event', 'events')
  const files = countText(archive.files, 'file', 'files')
  return [storePair, ['Archives', `${events} in ${files} erased`]]
}

function countText(count: number, one: string, several: string): string {
  return `${formatCount(count)} ${count === 1 ? one : several}`
}

function streamsOf({ streamStatus }: RegulationFields): readonly ShownStream[] {
  return streamStatus.flatMap(({ id: source, destinationStatus }) =>
    destinationStatus.map(({ id: destination, status, ...counts }) => ({
      source,
      destination,
      status,
      counts,
    })),
  )
}
