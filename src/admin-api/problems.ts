import type { Backlog } from '../delivery/index.ts'
import { failureText, formatTimestamp, hiddenEndpoint } from '../model/index.ts'
import type { AnswerRecord, DestinationFields, EndpointFields } from './answer-schemas.ts'
import type { BreakerBoard } from './metrics/breaker-board.ts'
import type { RecentLosses } from './metrics/recent-losses.ts'

type Problem = AnswerRecord<'overview'>['problems'][number]

/** The input of {@link problemsOf}. */
export interface ServiceState {
  readonly unreadyReasons: readonly string[]
  readonly destinations: readonly DestinationFields[]
  readonly losses: RecentLosses
  readonly breakers: BreakerBoard
  readonly orphanedBacklogs: readonly Backlog[]
}

/** Lists the current problems of a service, most severe first. */
export function problemsOf({
  unreadyReasons,
  destinations,
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
    ...destinations.flatMap((destination) => [
      ...destination.endpoints.flatMap((endpoint) =>
        endpointProblems(destination, endpoint, breakers),
      ),
      ...lossProblems(destination, losses),
      ...waitingProblems(destination),
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
  { id, endpoints, failed, expired }: DestinationFields,
  losses: RecentLosses,
): readonly Problem[] {
  const lost = losses.of(id)
  if (lost === undefined) return []
  const { reasons, sinceMs } = lost
  // The ledger no longer counts a delivery as failed or expired once it is retried.
  const deliveries = Math.min(lost.deliveries, failed + expired)
  // Leave out losses whose only reasons are faults of endpoints, because each fault is a problem of its own.
  const faults = new Set(endpoints.flatMap((each) => each.faults.map(({ reason }) => reason)))
  if (deliveries === 0 || reasons.every((reason) => faults.has(reason))) return []
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

function waitingProblems({ id, enabled, pending }: DestinationFields): readonly Problem[] {
  if (enabled || pending === 0) return []
  const text = `The destination is disabled, and ${waitText(pending)}.`
  const advice = 'Enable the destination in the configuration, or discard its deliveries.'
  return [{ text, advice, destination: id, moment: null }]
}

function waitText(deliveries: number): string {
  return deliveries === 1 ? '1 delivery waits' : `${deliveries} deliveries wait`
}
