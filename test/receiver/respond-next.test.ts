import { expect, test } from 'vitest'
import { SettingError } from '../../src/model/index.ts'
import { Receiver } from '../../src/receiver/index.ts'
import { post, start, trackBody } from './requests.ts'

test('respondNext changes the next answers, and the plan continues after them', async () => {
  const { receiver, url } = await start({ respond: '201,202' })
  receiver.respondNext(503)
  receiver.respondNext(429)
  // A request that is not a webhook does not use up the answer.
  expect((await post(url, 'no JSON')).status).toBe(400)
  const statuses: number[] = []
  for (let sent = 0; sent < 4; sent++) statuses.push((await post(url, trackBody)).status)
  expect(statuses).toEqual([503, 429, 201, 202])
  expect(receiver.events.map(({ injected }) => injected)).toEqual([
    null,
    'status 503',
    'status 429',
    'status 201',
    'status 202',
  ])
})

test('respondNext accepts a fault', async () => {
  const { receiver, url } = await start()
  receiver.respondNext('empty')
  await expect(post(url, trackBody)).rejects.toThrow()
  expect((await post(url, trackBody)).status).toBe(200)
})

test('respondNext refuses an invalid answer at once', async () => {
  const { receiver } = await start()
  expect(() => receiver.respondNext(999)).toThrow(SettingError)
})

test('respondNext refuses more than 10,000 answers', () => {
  const receiver = new Receiver()
  for (let count = 0; count < 10_000; count++) receiver.respondNext(503)
  expect(() => receiver.respondNext(503)).toThrow('Cannot queue more than 10000 answers')
})
