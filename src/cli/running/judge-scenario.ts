import { countText } from '../../match/index.ts'
import { limits, type RequestRecord } from '../../model/index.ts'
import type { Scenario } from '../../receiver/index.ts'
import type { ScenarioObservation } from './run-scenario.ts'

/** Compares a run of a scenario with its expected outcome. Returns the differences. Pure. */
export function judgeScenario(
  { webhooks, expected }: Pick<Scenario, 'webhooks' | 'expected'>,
  { settled, requests, arrived, logged }: ScenarioObservation,
): readonly string[] {
  const [atLeast, atMost] = expected.requests
  const counts = [...arrived, ...Array<number>(Math.max(webhooks - arrived.length, 0)).fill(0)]
  const errors = requests.flatMap(({ error }) => error ?? [])
  const isUnlogged = expected.error === 'timeout' && !logged.includes('timeout')
  const complaints: readonly (readonly [isWrong: boolean, complaint: string])[] = [
    [settled.length !== webhooks, `${settled.length} of ${webhooks} came to an end`],
    [
      settled.some(({ state }) => state !== expected.state),
      `not every delivery is ${expected.state}`,
    ],
    [
      counts.some((count) => count < atLeast || count > atMost),
      `${countText({ atLeast, atMost })} had to arrive for each webhook, ${counts.join(', ')} did`,
    ],
    [!errors.includes(expected.error), `no request failed with ${expected.error}`],
    [errors.some((error) => error !== expected.error), 'a request failed for another reason'],
    [isUnlogged, 'the timeout is not in the log'],
    [isRetriedAfterSuccess(requests), 'an endpoint was asked again after one had taken it'],
    [spanMs(requests) > limits.retryWindowMs, 'it was retried for more than four hours'],
  ]
  return complaints.flatMap(([isWrong, complaint]) => (isWrong ? [complaint] : []))
}

function isRetriedAfterSuccess(requests: readonly RequestRecord[]): boolean {
  return requests.some(
    (success) =>
      success.outcome === 'success' &&
      requests.some(
        ({ messageId, attempt }) => messageId === success.messageId && attempt > success.attempt,
      ),
  )
}

/** Milliseconds from the start of the first request to the start of the last. */
export function spanMs(requests: readonly RequestRecord[]): number {
  const times = requests.map(({ atMs }) => atMs)
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times)
}
