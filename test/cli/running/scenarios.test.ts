import { describe, expect, test } from 'vitest'
import { judgeScenario, runScenario, runScenarios } from '../../../src/cli/running/scenarios.ts'

import { scenarioNamed, scenarios, type Scenario } from '../../../src/receiver/index.ts'
import { CapturedStream, run, start } from '../../support/io.ts'

/** The real time that every request may take; five seconds in the command. */
const deadlineMs = 250

describe("the specification's table of errors", () => {
  test.each(scenarios)('holds: $name', async (scenario) => {
    const observed = await runScenario(scenario, deadlineMs)
    expect(judgeScenario(scenario, observed)).toEqual([])
  })

  test('makes four hours of retries in a moment', async () => {
    const { requests } = await runScenario(scenarioNamed('down-4h'))
    const [first, last] = [requests[0]!.atMs, requests.at(-1)!.atMs]
    // Jitter takes up to a fifth of each wait.
    expect(last - first).toBeGreaterThan(2.5 * 60 * 60 * 1_000)
  })
})

describe('run --scenario', () => {
  test('prints what it observed and what it expected', async () => {
    const { code, stdout, stderr } = await run(['run', '--scenario', 'any-succeeds'])
    expect(stdout).toContain('✔ any-succeeds\n  rule      Several URLs are configured')
    expect(stdout).toContain(
      '  expected  one of five endpoints accepted it, and it was not sent again\n',
    )
    expect(stdout).toMatch(/ {2}observed {2}5 requests: .*503.*; delivered\n/)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('prints records', async () => {
    const { code, records } = await run(['run', '--scenario', '5xx-then-ok', '--json'])
    expect(code).toBe(0)
    expect(records).toEqual([
      {
        v: 1,
        kind: 'scenario',
        name: '5xx-then-ok',
        rule: scenarioNamed('5xx-then-ok').rule,
        expected: scenarioNamed('5xx-then-ok').expected.text,
        holds: true,
        complaints: [],
        webhooks: 1,
        requests: 4,
        answers: { '200': 1, '503': 3 },
        states: { delivered: 1 },
        ms: expect.any(Number) as number,
      },
    ])
  })

  test('ends with 5 and reports the differences', async () => {
    const [stdout, stderr] = [new CapturedStream(), new CapturedStream()]
    const { signal } = new AbortController()
    const stdin = process.stdin
    const io = { stdin, stdout, stderr, env: {}, stop: signal, interrupted: signal }
    const scenario: Scenario = { ...scenarioNamed('5xx-then-ok'), settings: { respond: '503,200' } }
    const options = { scenarios: [scenario], json: false, color: false }
    expect(await runScenarios(options, io)).toBe(5)
    expect(stdout.text).toMatch(/^✖ 5xx-then-ok\n/)
    expect(stdout.text).toContain(
      'wrong     exactly 4 must arrive for each webhook, but 2 arrived\n',
    )
  })

  test('ends early on a signal', async () => {
    const command = start(['run', '--scenario', 'all'])
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({ code: 130, stdout: '' })
  })

  test('ends with 130 on a signal during the last scenario', async () => {
    const [stdout, stderr] = [new CapturedStream(), new CapturedStream()]
    const controller = new AbortController()
    const { signal } = controller
    stdout.once('written', () => controller.abort('SIGINT'))
    const io = { stdin: process.stdin, stdout, stderr, env: {}, stop: signal, interrupted: signal }
    const options = { scenarios: [scenarioNamed('any-succeeds')], json: false, color: false }
    expect(await runScenarios(options, io)).toBe(130)
  })
})
