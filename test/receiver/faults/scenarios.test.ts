import { describe, expect, onTestFinished, test } from 'vitest'
import { SettingError } from '../../../src/model/index.ts'
import { Receiver, scenarioNamed, scenarios } from '../../../src/receiver/index.ts'
import { VirtualClock } from '../../../src/runtime/index.ts'
import { Pipeline } from '../../../src/pipeline/index.ts'
import { checkDestination } from '../../../src/webhook/index.ts'
import { MemoryStore } from '../../support/memory-store.ts'
import { recordingRuntime, startMs } from '../../support/recording-runtime.ts'

const shortDeadlineMs = 1_000

describe('the table of errors in the specification', () => {
  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_, { settings, webhooks, expected }) => {
      const receiver = new Receiver(settings)
      onTestFinished(() => receiver.close())
      const { urls } = await receiver.start()
      const recording = recordingRuntime(new VirtualClock(startMs))
      const destination = checkDestination({
        id: 'crm',
        sourceIds: ['website'],
        endpoints: urls.map((url) => ({ url })),
      })
      const pipeline = new Pipeline({
        destinations: [destination],
        store: new MemoryStore(),
        isStoreOwn: true,
        runtime: recording.runtime,
        // Short only where the test waits for the timeout, because a busy machine answers slowly.
        ...(expected.error === 'timeout' ? { deadlineMs: shortDeadlineMs } : {}),
      })
      onTestFinished(() => pipeline.close())
      const batch = Array.from({ length: webhooks }, (_call, index) => ({
        type: 'track',
        userId: 'u_1',
        event: 'Ping',
        messageId: `m_${index + 1}`,
      }))
      await pipeline.intake.accept({ sourceId: 'website', calls: batch })
      await pipeline.idle()
      const [least, most] = expected.requests
      for (const { messageId, state } of recording.settled) {
        const arrived = receiver.events.filter(({ body }) => body?.['messageId'] === messageId)
        expect({ messageId, state }).toEqual({ messageId, state: expected.state })
        expect(arrived.length).toBeGreaterThanOrEqual(least)
        expect(arrived.length).toBeLessThanOrEqual(most)
      }
      expect(recording.settled).toHaveLength(webhooks)
      const errors = recording.requests.map(({ error }) => error).filter((error) => error !== null)
      expect(new Set(errors)).toEqual(new Set([expected.error]))
    },
  )

  test('lists every scenario', () => {
    expect(() => scenarioNamed('up-4h')).toThrow(SettingError)
    expect(() => scenarioNamed('up-4h')).toThrow(
      'timeout, 5xx-then-ok, down-4h, self-signed, any-succeeds, flaky',
    )
  })
})
