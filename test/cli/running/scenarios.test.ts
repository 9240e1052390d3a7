import { describe, expect, test } from 'vitest'
import { judgeScenario } from '../../../src/cli/running/judge-scenario.ts'
import { runScenario } from '../../../src/cli/running/run-scenario.ts'
import { scenarioNamed, scenarios } from '../../../src/receiver/index.ts'

/** Real time that every request has; it is five seconds in the command. */
const deadlineMs = 250

describe("the specification's table of errors", () => {
  test.each(scenarios)('holds: $name', async (scenario) => {
    const observed = await runScenario(scenario, { deadlineMs })
    expect(judgeScenario(scenario, observed)).toEqual([])
  })

  test('has four hours of retries in a moment', async () => {
    const { requests } = await runScenario(scenarioNamed('down-4h'))
    const [first, last] = [requests[0]!.atMs, requests.at(-1)!.atMs]
    expect(last - first).toBeGreaterThan(3 * 60 * 60 * 1_000)
  })
})
