import { formatDuration, recordLine } from '../../model/index.ts'
import { scenarioNamed, scenarios, type Scenario } from '../../receiver/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter, type Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { judgeScenario, spanMs } from './judge-scenario.ts'
import { runScenario, type ScenarioObservation, type ScenarioRun } from './run-scenario.ts'

/** The scenarios to run, and how to show them. */
export interface ScenariosOptions extends ScenarioRun {
  readonly scenarios: readonly Scenario[]
  readonly json: boolean
  readonly color: boolean
}

/** A scenario that ran. */
interface JudgedScenario {
  readonly scenario: Scenario
  readonly observed: ScenarioObservation
  /** The differences from the expected outcome. */
  readonly complaints: readonly string[]
}

/**
 * The scenario with this name, or all of them.
 *
 * @throws SettingError `scenario` for an unknown name
 */
export function scenariosNamed(name: string): readonly Scenario[] {
  return name === 'all' ? scenarios : [scenarioNamed(name)]
}

/**
 * Runs rows of the specification's error table one after the other and shows the observations.
 *
 * @returns 5 if a scenario did not go as expected
 */
export async function runScenarios(options: ScenariosOptions, io: Io): Promise<ExitCode> {
  const { json, color } = options
  const stdout = new DataWriter(io)
  const style = await createStyle(wantsColor(io, io.stdout, color))
  let failed = 0
  for (const scenario of options.scenarios) {
    if (io.stop.aborted) return exitCodes.interrupted
    const observed = await runScenario(scenario, options)
    const complaints = judgeScenario(scenario, observed)
    const judged = { scenario, observed, complaints }
    if (complaints.length > 0) failed++
    stdout.write(json ? recordLine(scenarioRecord(judged)) : scenarioText(judged, style))
    await stdout.ready()
  }
  if (io.stop.aborted) return exitCodes.interrupted
  return failed === 0 ? exitCodes.ok : exitCodes.expectationUnmet
}

function scenarioRecord({
  scenario,
  observed,
  complaints,
}: JudgedScenario): Readonly<Record<string, unknown>> {
  const { name, rule, webhooks, expected } = scenario
  const { arrived, requests, settled } = observed
  return {
    kind: 'scenario',
    name,
    rule,
    expected: expected.text,
    holds: complaints.length === 0,
    complaints,
    webhooks,
    requests: sum(arrived),
    answers: Object.fromEntries(tally(requests.map(answerOf))),
    states: Object.fromEntries(tally(settled.map(({ state }) => state))),
    ms: spanMs(requests),
  }
}

function scenarioText({ scenario, observed, complaints }: JudgedScenario, style: Style): string {
  const { name, rule, expected } = scenario
  const holds = complaints.length === 0
  const rows: readonly (readonly [string, string])[] = [
    ['rule', rule],
    ['expected', expected.text],
    ['observed', observationText(scenario, observed)],
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
  return `${count} ${count === 1 ? 'request' : 'requests'}${what}${duration}: ${answers}; ${states}`
}

function answerOf({ status, error }: ScenarioObservation['requests'][number]): string {
  return status === null ? (error ?? '') : String(status)
}

function tallyText(names: readonly string[]): string {
  return [...tally(names)]
    .map(([name, count]) => (count === 1 ? name : `${name} x${count}`))
    .join(', ')
}

/** Counts the occurrences of each name, in the order of their first. */
function tally(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
