import type { ReplayRequest, ReplayResult } from '../admin-api/index.ts'
import { callOfArchivedRow, readArchive } from '../archive/index.ts'
import type { AddOutcome, NewEvent } from '../delivery/index.ts'
import { Intake } from '../intake/index.ts'
import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { ConfiguredSource } from './configuration/index.ts'

/** What archived events are sent again with. */
export interface ArchiveReplay {
  /** The sources; those without an archive have nothing to send again. */
  readonly sources: readonly ConfiguredSource[]
  /** Where events may go. */
  readonly destinations: readonly Destination[]
  /** Takes deliveries in. */
  readonly add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>
  /** Resolves once so little waits that a replay leaves room for what sources send. */
  readonly roomed: () => Promise<void>
  /** Clock, ids and log. */
  readonly runtime: Runtime
}

/**
 * Sends archived events again, to the destinations that their source has today, or to one of them.
 * Each replay is a source of its own, so that its events are no duplicates of what they were.
 */
export async function replayArchive(
  replay: ArchiveReplay,
  request: ReplayRequest,
): Promise<ReplayResult> {
  const sources = replay.sources.filter(
    ({ id }) => request.sourceId === undefined || id === request.sourceId,
  )
  let [events, deliveries] = [0, 0]
  for (const source of sources) {
    if (source.archive === undefined) continue
    const intake = replayIntake(replay, source.id, request.destinationId)
    for await (const rows of readArchive(source.archive.directory, source.id, request)) {
      await replay.roomed()
      const calls = rows.map(callOfArchivedRow)
      const results = await intake.accept({ sourceId: replaySource, calls })
      for (const result of results) {
        // An archive has an event twice that was sent twice.
        if (result.kind === 'rejected' || result.outcome === 'duplicate') continue
        events++
        if (result.outcome === 'routed') deliveries += result.deliveries.length
      }
    }
  }
  return { events, deliveries }
}

/** Stands for the source within the intake of one replay. */
const replaySource = 'replay'

function replayIntake(
  { destinations, add, runtime }: ArchiveReplay,
  sourceId: string,
  destinationId: string | undefined,
): Intake {
  const chosen = destinations.filter(
    ({ id, sourceIds }) =>
      sourceIds.includes(sourceId) && (destinationId === undefined || id === destinationId),
  )
  const storedSourceId = `${sourceId}/replay-${runtime.newId()}`
  return new Intake({
    add: (events) => add(events.map((event) => ({ ...event, sourceId: storedSourceId }))),
    destinations: chosen.map((destination) => ({ ...destination, sourceIds: [replaySource] })),
    runtime,
  })
}
