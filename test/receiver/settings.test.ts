import { expect, test } from 'vitest'
import { SettingError } from '../../src/model/index.ts'
import { Receiver, type ReceiverOptions } from '../../src/receiver/index.ts'
import { checkReceiverOptions } from '../../src/receiver/settings.ts'

test('without options it is a receiver on a free port of this machine that answers 200', () => {
  const settings = checkReceiverOptions()
  expect(settings).toMatchObject({
    host: '127.0.0.1',
    port: 0,
    secret: undefined,
    strict: false,
    status: 200,
    delayMs: 0,
    eventsMax: 1_000,
  })
  expect(Object.isFrozen(settings)).toBe(true)
})

test.each<[string, ReceiverOptions]>([
  ['host', { host: '' }],
  ['port', { port: 65_536 }],
  ['port', { port: 1.5 }],
  ['status', { status: 100 }],
  ['status', { status: 600 }],
  ['delayMs', { delayMs: -1 }],
  ['delayMs', { delayMs: 3_600_001 }],
  ['eventsMax', { eventsMax: Number.NaN }],
  ['secret', { secret: '' }],
  ['strict', { strict: true }],
])('%s is refused: %j', (setting, options) => {
  expect(() => new Receiver(options)).toThrow(SettingError)
  expect(() => new Receiver(options)).toThrow(expect.objectContaining({ setting }))
})
