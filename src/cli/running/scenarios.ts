import { countText } from '../../match/index.ts'
import {
  formatDuration,
  recordLine,
  limits,
  sampleCall,
  type RequestRecord,
  type SettledDelivery,
} from '../../model/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { scenarioNamed, scenarios, Receiver, type Scenario } from '../../receiver/index.ts'
import { createRuntime, systemClock, VirtualClock, type LogLine } from '../../runtime/index.ts'
import { openStore } from '../../store/index.ts'
import { checkDestination } from '../../webhook/index.ts'
import type { RunValues } from '../commands/run.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter, type Io } from '../io.ts'
import { countOf } from '../output/numbers.ts'
import { styleOf, type Style } from '../output/style.ts'

/** Returns the scenario with this name, or all of them. */
export function scenariosNamed(name: string): readonly Scenario[] {
  return name === 'all' ? scenarios : [scenarioNamed(name)]
}

/** Runs scenarios, and prints what was observed and expected. Returns 5 if one did not go as expected. */
export async function runScenarios(
  options: Pick<RunValues, 'json' | 'color'> & {
    readonly scenarios: readonly Scenario[]
    readonly deadlineMs?: number
  },
  io: Io,
): Promise<ExitCode> {
  const { json, color, deadlineMs } = options
  const stdout = new DataWriter(io)
  const style = styleOf(io, 'stdout', color)
  let failed = 0
  for (const scenario of options.scenarios) {
    if (io.stop.aborted) return exitCodes.interrupted
    const observed = await runScenario(scenario, deadlineMs)
    const complaints = judgeScenario(scenario, observed)
    if (complaints.length > 0) failed++
    const seen = { ...observed, complaints }
    stdout.write(
      json ? recordLine(scenarioRecord(scenario, seen)) : scenarioText(scenario, seen, style),
    )
    await stdout.ready()
  }
  if (io.stop.aborted) return exitCodes.interrupted
  return failed === 0 ? exitCodes.ok : exitCodes.expectationUnmet
}

type JudgedObservation = ScenarioObservation & { readonly complaints: readonly string[] }

function scenarioRecord(
  { name, rule, webhooks, expected }: Scenario,
  { complaints, arrived, requests, settled }: JudgedObservation,
): Readonly<Record<string, unknown>> {
  return {
    kind: 'scenario',
    ...{ name, rule, expected: expected.text },
    ...{ holds: complaints.length === 0, complaints, webhooks },
    requests: sum(arrived),
    answers: Object.fromEntries(tally(requests.map(answerOf))),
    states: Object.fromEntries(tally(settled.map(({ state }) => state))),
    ms: spanMs(requests),
  }
}

function scenarioText(scenario: Scenario, seen: JudgedObservation, style: Style): string {
  const { name, rule, expected } = scenario
  const { complaints } = seen
  const holds = complaints.length === 0
  const rows: readonly (readonly [string, string])[] = [
    ['rule', rule],
    ['expected', expected.text],
    ['observed', observationText(scenario, seen)],
    ...complaints.map((complaint) => ['wrong', style.bad(complaint)] as const),
  ]
  const title = `${holds ? style.good('✔') : style.bad('✖')} ${style.strong(name)}`
  return [title, ...rows.map(([label, text]) => `  ${style.faint(label.padEnd(9))} ${text}`), '']
    .map((line) => `${line}\n`)
    .join('')
}

function observationText(
  { webhooks }: Scenario,
  { arrived, requests, settled }: ScenarioObservation,
): string {
  const count = sum(arrived)
  const what = webhooks === 1 ? '' : ` for ${webhooks} webhooks`
  const isRetried = requests.some(({ attempt }) => attempt > 1)
  const duration = isRetried ? ` in ${formatDuration(spanMs(requests))}` : ''
  const states = tallyText(settled.map(({ state }) => state))
  const answers = tallyText(requests.map(answerOf))
  return `${countOf(count, 'request')}${what}${duration}: ${answers}; ${states}`
}

function answerOf({ status, error }: ScenarioObservation['requests'][number]): string {
  return status === null ? (error ?? '') : String(status)
}

function tallyText(names: readonly string[]): string {
  return [...tally(names)]
    .map(([name, count]) => (count === 1 ? name : `${name} x${count}`))
    .join(', ')
}

function tally<Name>(names: readonly Name[]): ReadonlyMap<Name, number> {
  const counts = new Map<Name, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** Lists the differences between a run of a scenario and its expected outcome. A pure function. */
export function judgeScenario(
  { webhooks, expected }: Pick<Scenario, 'webhooks' | 'expected'>,
  { settled, requests, arrived, logged }: ScenarioObservation,
): readonly string[] {
  const [atLeast, atMost] = expected.requests
  const counts = [...arrived, ...Array<number>(Math.max(webhooks - arrived.length, 0)).fill(0)]
  const errors = requests.flatMap(({ error }) => error ?? [])
  const isUnlogged = expected.error === 'timeout' && !logged.includes('timeout')
  const complaints: readonly (readonly [isWrong: boolean, complaint: string])[] = [
    [settled.length !== webhooks, `${settled.length} of ${webhooks} were settled`],
    [
      settled.some(({ state }) => state !== expected.state),
      `not every delivery is ${expected.state}`,
    ],
    [
      counts.some((count) => count < atLeast || count > atMost),
      `${countText({ atLeast, atMost })} must arrive for each webhook, but ${counts.join(', ')} arrived`,
    ],
    [!errors.includes(expected.error), `no request failed with ${expected.error}`],
    [errors.some((error) => error !== expected.error), 'a request failed for another reason'],
    [isUnlogged, 'evroute did not log the timeout'],
    [isRetriedAfterSuccess(requests), 'a webhook was sent again after an endpoint had accepted it'],
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

/** Returns the time between the starts of the first and the last request. */
export function spanMs(requests: readonly RequestRecord[]): number {
  const times = requests.map(({ atMs }) => atMs)
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times)
}

/** What happened in one run of a scenario. */
export interface ScenarioObservation {
  readonly settled: readonly SettledDelivery[]
  /** The requests in order, including attempts that ended when the certificate was refused. */
  readonly requests: readonly RequestRecord[]
  /** For each webhook that arrived, the number of its requests. */
  readonly arrived: readonly number[]
  /** The codes of the warnings in the log. */
  readonly logged: readonly string[]
}

const sourceId = 'scenario'
const secret = 'not-a-real-secret'

/** Sends webhooks through the real dispatcher and sender to a scenario's receiver. Retries take no time. */
export async function runScenario(
  { settings, webhooks }: Scenario,
  deadlineMs?: number,
): Promise<ScenarioObservation> {
  const requests: RequestRecord[] = []
  const settled: SettledDelivery[] = []
  const logged: string[] = []
  const warn: LogLine = (_, fields) => logged.push(String(fields?.['code']))
  await using receiver = new Receiver({ ...settings, secret, strict: true })
  const { urls } = await receiver.start()
  const pipeline = new Pipeline({
    destinations: [
      checkDestination({
        id: 'scenario',
        sourceIds: [sourceId],
        endpoints: urls.map((url) => ({ url })),
        sharedSecret: secret,
        // Send one at a time, so that random decisions are the same in every run.
        concurrency: 1,
      }),
    ],
    store: await openStore('memory:'),
    isStoreOwn: true,
    runtime: createRuntime({
      clock: new VirtualClock(systemClock.nowMs()),
      log: { debug: () => undefined, info: () => undefined, warn },
      observer: {
        request: (record) => requests.push(record),
        settled: (delivery) => settled.push(delivery),
        endpoint: () => undefined,
      },
    }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  })
  try {
    const calls = Array.from({ length: webhooks }, () => sampleCall('track'))
    await pipeline.intake.accept({ sourceId, calls })
    await pipeline.idle()
  } finally {
    await pipeline.close()
  }
  // Close the receiver first: requests that were never answered become events only then.
  await receiver.close()
  const messageIds = receiver.events.map(({ body }) => body?.['messageId'])
  return { settled, requests, arrived: [...tally(messageIds).values()], logged }
}
