import { describe, expect, test } from 'vitest'
import { DestinationQueue } from '../../src/delivery/destination-queue.ts'
import { Outbox } from '../../src/delivery/outbox.ts'
import { Prefetch } from '../../src/delivery/prefetch.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import { defaultRetryPolicy } from '../../src/delivery/retry-policy.ts'
import { Rounds, type RoundTarget } from '../../src/delivery/rounds.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'
import { HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered, leased } from './samples.ts'

/** Creates rounds of destinations with a common maximum. Requests wait until `end` answers them. */
function roundsOf(requestsMax: number, ids: readonly string[], concurrency = 10) {
  const { runtime } = recordingRuntime(new ManualClock(startMs))
  const sent: string[] = []
  const waiting: (() => void)[] = []
  const sender = new ScriptedSender(async (_, { body }) => {
    sent.push(body)
    await new Promise<void>((resolve) => waiting.push(resolve))
    return answered(200)
  })
  const ignore = (): void => undefined
  const outbox = new Outbox({
    store: new HookedStore(),
    clock: runtime.clock,
    settled: ignore,
    drained: ignore,
    failed: ignore,
  })
  const rounds = new Rounds({
    runtime,
    requestsMax,
    maySend: () => true,
    outbox,
    ended: ignore,
    stillDown: ignore,
    failed: ignore,
  })
  const targets = ids.map((id): RoundTarget => {
    const { destination } = target(id, sender, concurrency)
    const queue = new DestinationQueue(
      destination,
      queuePolicies(defaultRetryPolicy, { concurrency }, () => 0),
      new Prefetch(Infinity),
    )
    return { queue, sender, retryPolicy: defaultRetryPolicy }
  })
  rounds.configure(targets)
  let lastId = 0
  return {
    rounds,
    targets,
    /** Returns the destinations of the requests since the last call, in order. */
    sent: () => sent.splice(0),
    /** Makes deliveries ready for a destination. Their bodies are its id. */
    take: (id: string, count: number): void => {
      const found = targets.find(({ queue }) => queue.destination.id === id)
      const deliveries = Array.from({ length: count }, () =>
        leased({ id: ++lastId, destinationId: id, body: id }),
      )
      found?.queue.take('first', deliveries, 0)
      rounds.lineUp(id)
    },
    /** Ends the oldest requests, and starts others in their place. */
    end: async (count: number): Promise<void> => {
      for (const end of waiting.splice(0, count)) end()
      await quiet()
      rounds.startAll(startMs)
    },
  }
}

describe('the turns of destinations', () => {
  test('alternate, however many deliveries each destination has ready', () => {
    const { rounds, take, sent } = roundsOf(7, ['a', 'b', 'c'])
    take('a', 9)
    take('b', 2)
    take('c', 9)
    rounds.startAll(startMs)
    expect(sent().join('')).toBe('abcabca')
  })

  test('continue after the common maximum stopped them', async () => {
    const { rounds, take, sent, end } = roundsOf(2, ['a', 'b', 'c'])
    for (const id of ['a', 'b', 'c']) take(id, 9)
    rounds.startAll(startMs)
    const started = sent()
    for (let round = 0; round < 4; round++) {
      await end(1)
      started.push(...sent())
    }
    expect(started.join('')).toBe('abcabc')
  })

  test('come to new destinations after those that already wait', async () => {
    const { rounds, take, sent, end } = roundsOf(2, ['a', 'b', 'c'])
    take('c', 9)
    take('b', 9)
    rounds.startAll(startMs)
    take('a', 9)
    await end(2)
    await end(2)
    expect(sent().join('')).toBe('cbcbac')
  })

  test('skip a destination that may not start, and come back to it', async () => {
    const { rounds, take, sent, end } = roundsOf(4, ['a', 'b'], 1)
    take('a', 2)
    take('b', 2)
    rounds.startAll(startMs)
    rounds.startAll(startMs)
    expect(sent().join('')).toBe('ab')
    await end(2)
    expect(sent().toSorted().join('')).toBe('ab')
  })

  test('are lost when deliveries are returned, and come back with new deliveries', () => {
    const { rounds, targets, take, sent } = roundsOf(9, ['a', 'b'])
    take('a', 2)
    take('b', 1)
    targets[0]?.queue.giveBack()
    rounds.startAll(startMs)
    expect(sent()).toEqual(['b'])
    expect(rounds.ready).toEqual([])
    take('a', 1)
    expect(rounds.ready).toEqual([targets[0]?.queue])
    rounds.startAll(startMs)
    rounds.start('b')
    expect(sent()).toEqual(['a'])
    expect(rounds.ready).toEqual([])
  })

  test('stay with destinations that are still configured and have deliveries ready', () => {
    const { rounds, targets, take, sent } = roundsOf(9, ['a', 'b', 'c'])
    take('a', 1)
    take('b', 1)
    rounds.configure(targets.slice(1))
    rounds.startAll(startMs)
    expect(sent()).toEqual(['b'])
  })
})
