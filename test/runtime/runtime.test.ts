import { expect, test } from 'vitest'
import {
  createRuntime,
  ManualClock,
  silentLog,
  silentObserver,
  systemClock,
} from '../../src/runtime/index.ts'

test('createRuntime returns the parts that production uses, frozen', () => {
  const runtime = createRuntime()
  expect(runtime).toMatchObject({ clock: systemClock, observer: silentObserver })
  expect(runtime.random()).toBeGreaterThanOrEqual(0)
  expect(runtime.random()).toBeLessThan(1)
  expect(runtime.newId()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(runtime.newId()).not.toBe(runtime.newId())
  expect(Object.isFrozen(runtime)).toBe(true)
})

test('createRuntime replaces any part', () => {
  const parts = {
    clock: new ManualClock(0),
    random: () => 0.5,
    newId: () => 'id-1',
    log: silentLog,
    observer: { request: () => undefined, settled: () => undefined, endpoint: () => undefined },
  }
  expect(createRuntime(parts)).toEqual(parts)
  const { clock, observer } = createRuntime({ clock: parts.clock })
  expect(clock).toBe(parts.clock)
  expect(observer).toBe(silentObserver)
})
