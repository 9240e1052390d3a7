import type { Backlog, DeliveryStore } from '../delivery/index.ts'
import { failureText, formatTimestamp, hiddenEndpoint } from '../model/index.ts'
import type { AnswerRecord, DestinationFields, EndpointFields } from './answer-schemas.ts'
import type { BreakerBoard } from './metrics/breaker-board.ts'
import type { Losses, RecentLosses } from './metrics/recent-losses.ts'

type Problem = AnswerRecord<'overview'>['problems'][number]

/** The input of {@link problemsOf}. */
export interface ServiceState {
  readonly unreadyReasons: readonly string[]
  readonly isReloadRefused: boolean
  readonly destinations: readonly DestinationFields[]
  readonly isDisabledByHand: (id: string) => boolean
  /** By destination, from {@link currentLosses}. */
  readonly losses: ReadonlyMap<string, Losses>
  readonly breakers: BreakerBoard
  readonly orphanedBacklogs: readonly Backlog[]
}

const refusedReload: Problem = {
  text: 'The latest configuration is invalid, so the previous one stays in use.',
  advice: 'The log says what is wrong. Correct it, and send SIGHUP to the service.',
  destination: null,
  moment: null,
}

/** A loss is counted after it was stored, perhaps by this much. */
const storingMs = 60_000

/** Count no more stored losses of a destination than this, because each overview counts them again. */
const countedMax = 10_000

/** Count the stored losses of this many destinations, and report the others as this process counted them. */
const countedDestinationsMax = 100

/** Counts the recent losses that can still be retried. Leaves out destinations without any. */
export async function currentLosses(
  ids: readonly string[],
  { store, losses }: { store: Pick<DeliveryStore, 'countLost'>; losses: Pick<RecentLosses, 'of'> },
): Promise<ReadonlyMap<string, Losses>> {
  const current = new Map<string, Losses>()
  let counted = 0
  for (const destinationId of ids) {
    const lost = losses.of(destinationId)
    if (lost === undefined) continue
    const limit = Math.min(lost.deliveries, countedMax)
    const sinceMs = lost.sinceMs - storingMs
    const isCounted = ++counted <= countedDestinationsMax
    const deliveries = isCounted ? await store.countLost({ destinationId, sinceMs, limit }) : limit
    if (deliveries === limit) current.set(destinationId, lost)
    else if (deliveries > 0) current.set(destinationId, { ...lost, deliveries })
  }
  return current
}

/** Lists the current problems of a service, most severe first. */
export function problemsOf({
  unreadyReasons,
  isReloadRefused,
  destinations,
  isDisabledByHand,
  losses,
  breakers,
  orphanedBacklogs,
}: ServiceState): readonly Problem[] {
  return [
    ...unreadyReasons.map((reason) => ({
      text: `${reason}.`,
      advice: 'Check the log of the service, and the disk of its store.',
      destination: null,
      moment: null,
    })),
    ...(isReloadRefused ? [refusedReload] : []),
    ...destinations.flatMap((destination) => [
      ...destination.endpoints.flatMap((endpoint) =>
        endpointProblems(destination, endpoint, breakers),
      ),
      ...lossProblems(destination, losses),
      ...disabledProblems(destination, isDisabledByHand(destination.id)),
    ]),
    ...orphanedBacklogs.map(({ destinationId, pending }) => ({
      text: `The destination is not configured, and ${waitText(pending)}.`,
      advice: 'Add the destination to the configuration again, or discard its deliveries.',
      destination: destinationId,
      moment: null,
    })),
  ]
}

function endpointProblems(
  { id, enabled, pending }: DestinationFields,
  { url, breaker, probeAt, faults }: EndpointFields,
  breakers: BreakerBoard,
): readonly Problem[] {
  const endpoint = hiddenEndpoint(url)
  const refusals: readonly Problem[] = faults.map(({ reason, failures, since }) => ({
    text: `${endpoint} refuses webhooks: ${failureText(reason)}, ${failures === 1 ? 'once' : `${failures} times`}.`,
    advice: 'Correct the endpoint or its URL, then retry the failed deliveries.',
    destination: id,
    moment: since === null ? null : { name: 'Since', at: since },
  }))
  if (breaker !== 'open' || !enabled) return refusals
  const { error } = breakers.endpoint(id, url)
  const cause = error === null ? '' : `: ${failureText(error)}`
  const down: Problem =
    pending === 0
      ? {
          text: `${endpoint} was down when it was last tried${cause}.`,
          advice: 'The next delivery tries it again.',
          destination: id,
          moment: null,
        }
      : {
          text: `${endpoint} is down${cause}. Its deliveries wait.`,
          advice: 'evroute sends them once the endpoint answers again.',
          destination: id,
          moment: probeAt === null ? null : { name: 'Next probe', at: probeAt },
        }
  return [down, ...refusals]
}

function lossProblems(
  { id, endpoints }: DestinationFields,
  losses: ServiceState['losses'],
): readonly Problem[] {
  const lost = losses.get(id)
  if (lost === undefined) return []
  const { deliveries, reasons, sinceMs } = lost
  // Leave out losses whose only reasons are faults of endpoints, because each fault is a problem of its own.
  const faults = new Set(endpoints.flatMap((each) => each.faults.map(({ reason }) => reason)))
  if (reasons.every((reason) => faults.has(reason))) return []
  const count = deliveries === 1 ? '1 delivery' : `${deliveries} deliveries`
  const cause = reasons.map(failureText).join(', ')
  return [
    {
      text: `${count} failed or expired: ${cause}.`,
      advice: 'Correct the cause, then retry the failed and expired deliveries.',
      destination: id,
      moment: { name: 'Since', at: formatTimestamp(sinceMs) },
    },
  ]
}

function disabledProblems(
  { id, enabled, pending }: DestinationFields,
  isByHand: boolean,
): readonly Problem[] {
  if (enabled || (pending === 0 && !isByHand)) return []
  const waits = pending === 0 ? '' : `, and ${waitText(pending)}`
  const [state, place] = isByHand
    ? ['was disabled by hand', 'on the page or through the admin API']
    : ['is disabled', 'in the configuration']
  const discard = pending === 0 ? '' : ', or discard its deliveries'
  return [
    {
      text: `The destination ${state}${waits}.${isByHand ? ' Later events never reach it.' : ''}`,
      advice: `Enable the destination ${place}${discard}.`,
      destination: id,
      moment: null,
    },
  ]
}

function waitText(deliveries: number): string {
  return deliveries === 1 ? '1 delivery waits' : `${deliveries} deliveries wait`
}
