import { failureText, formatTimestamp, hiddenEndpoint } from '../model/index.ts'
import type { DestinationState, EndpointState } from './ports.ts'

/** Something that is wrong now, and what to do about it. */
export interface Problem {
  /** What is wrong, as a sentence. */
  readonly text: string
  /** What to do about it, as a sentence. */
  readonly advice: string
  /** The destination that it is about; null where it is about the service. */
  readonly destination: string | null
  /** When it began, or when its endpoint is probed; null where neither is known. */
  readonly moment: { readonly name: 'Since' | 'Next probe'; readonly at: string } | null
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
      moment: null,
    })),
    ...destinations.flatMap((destination) => [
      ...destination.endpoints.flatMap((endpoint) => endpointProblems(destination, endpoint)),
      ...waitingProblems(destination),
    ]),
  ]
}

function endpointProblems(
  { id, enabled }: DestinationState,
  { url, breaker, probeAtMs, error, faults }: EndpointState,
): readonly Problem[] {
  const endpoint = hiddenEndpoint(url)
  const refusals: readonly Problem[] = faults.map(({ reason, failures, sinceMs }) => ({
    text: `${endpoint} refuses webhooks: ${failureText(reason)}, ${failures} times.`,
    advice: 'Correct the endpoint or its URL, then retry the failed deliveries.',
    destination: id,
    moment: { name: 'Since', at: formatTimestamp(sinceMs) },
  }))
  if (breaker !== 'open' || !enabled) return refusals
  const cause = error === null ? '' : `: ${failureText(error)}`
  const down: Problem = {
    text: `${endpoint} is down${cause}. Its deliveries wait.`,
    advice: 'They go on by themselves once it answers again.',
    destination: id,
    moment: probeAtMs === null ? null : { name: 'Next probe', at: formatTimestamp(probeAtMs) },
  }
  return [down, ...refusals]
}

function waitingProblems({ id, enabled, ledger }: DestinationState): readonly Problem[] {
  if (enabled || ledger.pending === 0) return []
  const deliveries = ledger.pending === 1 ? '1 delivery waits' : `${ledger.pending} deliveries wait`
  const text = `The destination is disabled, and ${deliveries}.`
  const advice = 'Enable it in the configuration, or discard them.'
  return [{ text, advice, destination: id, moment: null }]
}
