import { expect, test } from 'vitest'
import { Targets, type SendingDestination } from '../../src/pipeline/targets.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

/** Makes destinations that count how often one of their settings is read. */
function countedDestinations(count: number, changed: number) {
  const reads = { count: 0 }
  const destinations = Array.from({ length: count }, (_, index) => ({
    id: `crm_${index}`,
    sourceIds: ['website'],
    enabled: true,
    endpoints: [{ url: `https://example.com/${index === changed ? 'other' : index}`, headers: {} }],
    get sharedSecret() {
      reads.count++
      return undefined
    },
    aliasKeys: 'spec',
    acceptsHistorical: true,
    concurrency: 10,
  })) satisfies readonly SendingDestination[]
  return { destinations, reads }
}

function targets(concurrencyOf?: () => number) {
  const shareOf = concurrencyOf && (() => ({ concurrency: concurrencyOf(), rateShare: 1 }))
  const { runtime } = recordingRuntime(new ManualClock(startMs))
  return new Targets({ runtime, shareOf })
}

test('a reload compares each destination only with itself, and retires the sender of the one that changed', () => {
  const count = 500
  const configured = targets()
  const before = configured.configure(countedDestinations(count, -1))
  const { destinations, reads } = countedDestinations(count, 7)
  const after = configured.configure({ destinations })
  expect(reads.count).toBeLessThanOrEqual(3 * count)
  expect(after.retired).toEqual([before.targets[7]?.sender])
  const isKept = after.targets.map(({ sender }, index) => sender === before.targets[index]?.sender)
  expect(isKept.flatMap((kept, index) => (kept ? [] : [index]))).toEqual([7])
})

test('a removed destination retires only its own sender', () => {
  const configured = targets()
  const { destinations } = countedDestinations(3, -1)
  const { targets: before } = configured.configure({ destinations: destinations.slice(0, 2) })
  const after = configured.configure({ destinations: destinations.slice(1) })
  expect(after.retired).toEqual([before[0]?.sender])
  expect(after.targets[0]?.sender).toBe(before[1]?.sender)
})

test.each([
  { sourceIds: ['website', 'app'] },
  { filter: { text: 'type:track', takes: () => true, whyNot: () => '' } },
  { backlogMax: 10 },
  { aliasKeys: 'both' },
  { retryForMs: 1_000 },
] as readonly Partial<SendingDestination>[])(
  'a sender and its connections stay if only %o changes',
  (change) => {
    const configured = targets()
    const { destinations } = countedDestinations(1, -1)
    const [before] = configured.configure({ destinations }).targets
    const changed: SendingDestination = { ...destinations[0]!, ...change }
    const { retired, targets: after } = configured.configure({ destinations: [changed] })
    expect(retired).toEqual([])
    expect(after[0]?.sender).toBe(before?.sender)
    expect(after[0]?.destination).toMatchObject(change)
  },
)

test('a target uses the retry window of its destination', () => {
  const configured = targets()
  const { destinations } = countedDestinations(1, -1)
  configured.configure({ destinations })
  const changed = [{ ...destinations[0]!, retryForMs: 1_000 }]
  const { targets: after } = configured.configure({ destinations: changed })
  expect(after[0]?.retryPolicy?.windowMs).toBe(1_000)
})

test('shares that did not change since the last time change no target', () => {
  let concurrency = 10
  const configured = targets(() => concurrency)
  configured.configure(countedDestinations(3, -1))
  expect(configured.share()).toBeUndefined()
  concurrency = 5
  expect(configured.share()?.map((target) => target.concurrency)).toEqual([5, 5, 5])
  expect(configured.share()).toBeUndefined()
})
