import { expect, test } from 'vitest'
import { Shortage } from '../../src/delivery/shortage.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

const short: RequestOutcome = { kind: 'shortage', code: 'EMFILE', message: 'too many open files' }
const answered: RequestOutcome = {
  kind: 'answered',
  status: 200,
  retryAfter: undefined,
  excerpt: '',
}

function shortage() {
  const clock = new ManualClock(startMs)
  const { runtime, warnings, infos } = recordingRuntime(clock)
  const resumes = { count: 0 }
  const resumed = () => {
    resumes.count++
  }
  const made = new Shortage({ clock, log: runtime.log, resumed })
  const crm = {}
  const end = (outcome: RequestOutcome, requests: number) =>
    made.ended(outcome, crm, { requests, requestsMax: 512 })
  return { made, end, clock, crm, resumes, warnings, infos }
}

test('a shortage halves the maximum of requests, once for requests that fail together', async () => {
  const { made, end, clock } = shortage()
  expect(made.requestsMax).toBe(Infinity)
  for (let requests = 30; requests > 20; requests--) end(short, requests)
  expect(made.requestsMax).toBe(15)
  await clock.advance(1_000)
  end(short, 15)
  expect(made.requestsMax).toBe(7)
  for (let second = 0; second < 5; second++) {
    await clock.advance(1_000)
    end(short, 1)
  }
  expect(made.requestsMax).toBe(1)
})

test('the maximum grows by one each time as many requests end as it allows, until the shortage is over', () => {
  const { made, end } = shortage()
  end(short, 20)
  for (let count = 0; count < 10; count++) end(answered, 5)
  expect(made.requestsMax).toBeGreaterThan(10.9)
  expect(made.requestsMax).toBeLessThan(11)
  for (let count = 0; count < 512 * 512; count++) end(answered, 5)
  expect(made.requestsMax).toBe(Infinity)
})

test('only the destination that could not connect pauses, for a second', async () => {
  const { made, end, clock, crm, resumes } = shortage()
  end(short, 20)
  expect([made.isPaused(crm), made.isPaused({})]).toEqual([true, false])
  await clock.advance(999)
  expect([made.isPaused(crm), resumes.count]).toEqual([true, 0])
  await clock.advance(1)
  expect([made.isPaused(crm), resumes.count]).toEqual([false, 1])
})

test('a shortage is reported once, with a hint, and once when it is over', async () => {
  const { end, clock, warnings, infos } = shortage()
  end(short, 4)
  await clock.advance(5_000)
  end(short, 2)
  expect(warnings).toEqual([
    {
      message: 'this process cannot open more connections and is slowing down',
      code: 'EMFILE',
      hint: "raise this process's limit on open files (ulimit -n)",
    },
  ])
  expect(infos).toEqual([])
  for (let count = 0; count < 512 * 512; count++) end(answered, 1)
  expect(infos).toEqual([{ message: 'this process can open connections again at full speed' }])
})
