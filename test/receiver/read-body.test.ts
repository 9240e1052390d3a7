import { expect, test } from 'vitest'
import { bodyDeadlineMs } from '../../src/receiver/read-body.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { dial, nextEvent, rawPost, start, trackBody, WatchedClock } from './requests.ts'

test('holds the clock while it reads, and leaves nothing waiting', async () => {
  const clock = new WatchedClock(0)
  const { receiver, port } = await start({ runtime: createRuntime({ clock }) })
  const reading = clock.scheduled(bodyDeadlineMs)
  const received = nextEvent(receiver)
  const socket = await dial(port)
  const request = rawPost('/', trackBody)
  socket.write(request.slice(0, -1))
  await reading
  expect([clock.nextDueMs(), clock.holds]).toEqual([bodyDeadlineMs, 1])
  socket.write(request.slice(-1))
  await received
  expect([clock.nextDueMs(), clock.holds]).toEqual([undefined, 0])
})
