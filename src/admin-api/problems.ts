import { formatTimestamp, hiddenEndpoint } from '../model/index.ts'
import type { DestinationState, EndpointState } from './ports.ts'

/** Something that is wrong now, and what to do about it. */
export interface Problem {
  /** What is wrong, as a sentence. */
  readonly text: string
  /** What to do about it, as a sentence. */
  readonly advice: string
  /** The destination that it is about; null where it is about the service. */
  readonly destination: string | null
}

/** Tells what is wrong with a service now, the gravest first. */
export function problemsOf(
  unreadyReasons: readonly string[],
  destinations: readonly DestinationState[],
): readonly Problem[] {
  return [
    ...unreadyReasons.map((reason) => ({
      text: `${reason}.`,
      advice: 'The log of the service and the disk of its store say more.',
      destination: null,
    })),
    ...destinations.flatMap((destination) => [
      ...destination.endpoints.flatMap((endpoint) => endpointProblems(destination, endpoint)),
      ...waitingProblems(destination),
    ]),
  ]
}

function endpointProblems(
  { id, enabled }: DestinationState,
  { url, breaker, probeAtMs, faults }: EndpointState,
): readonly Problem[] {
  const endpoint = hiddenEndpoint(url)
  const refusals = faults.map(({ reason, failures, sinceMs }) => ({
    text: `${endpoint} refuses webhooks since ${formatTimestamp(sinceMs)}: ${reason}, ${failures} times.`,
    advice: 'Correct the endpoint or its URL, then retry the failed deliveries.',
    destination: id,
  }))
  if (breaker !== 'open' || !enabled) return refusals
  const probe =
    probeAtMs === null ? '' : ` The next request probes it at ${formatTimestamp(probeAtMs)}.`
  const down = {
    text: `${endpoint} is down: its deliveries wait.${probe}`,
    advice: 'They go on by themselves once it answers again.',
    destination: id,
  }
  return [down, ...refusals]
}

function waitingProblems({ id, enabled, ledger }: DestinationState): readonly Problem[] {
  if (enabled || ledger.pending === 0) return []
  const deliveries = ledger.pending === 1 ? '1 delivery waits' : `${ledger.pending} deliveries wait`
  const text = `The destination is disabled, and ${deliveries}.`
  return [{ text, advice: 'Enable it in the configuration, or discard them.', destination: id }]
}
