import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { compileProgram } from './compile-program.ts'
import { runCrashes, type CrashResult } from './crash-run.ts'
import type { Fault } from './deliverer-settings.ts'
import { figuresOf, findingsOf } from './findings.ts'
import type { DelivererEvent } from './kill-plan.ts'

/** Longer than the limit of a run without progress, so that the run reports its own error first. */
const timeoutMs = 60_000
const seed = 20_260_102

describe('a delivering process that is killed', { timeout: timeoutMs }, () => {
  let folder = ''
  let program = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'evroute-crash-'))
    program = await compileProgram(new URL('deliverer.ts', import.meta.url), folder)
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function crash(
    messages: number,
    killEvents: readonly DelivererEvent[],
    fault?: Fault,
  ): Promise<CrashResult> {
    const folder = await temporaryFolder()
    return runCrashes({ program, folder, messages, killEvents, seed, fault })
  }

  test('loses nothing that it acknowledged, and repeats only unsettled deliveries', async () => {
    const result = await crash(200, ['acknowledged', 'loaded', 'requested', 'opened', 'answered'])
    expect(findingsOf(result)).toEqual([])
    expect(figuresOf(result)).toMatchObject({ acknowledged: 200, answered: 200 })
    expect(result).toMatchObject({ kills: 5, killsAtRest: 0, refusals: 20 })
  })

  test('is found to lose messages if it acknowledges them before the commit', async () => {
    // Enough messages that it is killed long before it stores the last ones.
    const result = await crash(1_000, ['acknowledged'], 'ack-before-commit')
    expect(findingsOf(result)).toContainEqual(
      expect.stringMatching(/^Messages acknowledged and lost: \d+ \(m_\d+/),
    )
  })

  test('is found to leave deliveries pending if it never returns the leases of a killed process', async () => {
    const result = await crash(100, ['requested'], 'leases-never-returned')
    expect(findingsOf(result)).toContainEqual(
      expect.stringMatching(/^Deliveries pending: \d+, not 0$/),
    )
  })
})
