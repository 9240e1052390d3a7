import { expect, test } from 'vitest'
import { SettingError, type EventType } from '../../src/model/index.ts'
import {
  Receiver,
  type Fault,
  type ReceiverOptions,
  type TlsKind,
} from '../../src/receiver/index.ts'
import { checkReceiverOptions } from '../../src/receiver/settings.ts'

test('the defaults are a free port of this machine and the answer 200', () => {
  const settings = checkReceiverOptions()
  expect(settings).toMatchObject({
    host: '127.0.0.1',
    port: 0,
    secret: undefined,
    strict: false,
    endpoints: 1,
    tls: undefined,
    injections: {
      respond: [],
      delay: { fromMs: 0, toMs: 0 },
      failShare: 0,
      failure: 500,
    },
    eventsMax: 1_000,
  })
  expect(Object.isFrozen(settings)).toBe(true)
})

test('an answer that is neither a status nor a fault is described as such', () => {
  const respond = { steps: [{ answer: '6s' as Fault }] }
  expect(() => new Receiver({ respond })).toThrow(
    'Cannot answer with 6s: it is neither a status from 200 to 599 nor a fault',
  )
})

test.each<[string, ReceiverOptions]>([
  ['secrte', { secrte: 'k' } as object],
  ['host', { host: '' }],
  ['port', { port: 65_536 }],
  ['port', { port: 1.5 }],
  ['port', { port: 65_535, endpoints: 2 }],
  ['endpoints', { endpoints: 0 }],
  ['endpoints', { endpoints: 6 }],
  ['tls', { tls: 'weak' as TlsKind }],
  ['respond', { respond: 100 }],
  ['respond', { respond: 600 }],
  ['respond', { respond: '503x' }],
  ['respond', { respond: { steps: [] } }],
  ['respond', { respond: { steps: [{ answer: 503, times: 0 }] } }],
  ['respond', { respond: { steps: [{ answer: 'explode' as Fault }] } }],
  ['respond', { respond: { type: 'order' as EventType, steps: [{ answer: 503 }] } }],
  ['respond', { respond: 'endpoint=2:503' }],
  ['respond', { respond: { endpoint: 0, steps: [{ answer: 503 }] } }],
  ['respond', { respond: [503, '200'] }],
  ['respond', { respond: ['type=track:503', { type: 'track', steps: [{ answer: 200 }] }] }],
  ['failShare', { failShare: -0.1 }],
  ['failShare', { failShare: 1.1 }],
  ['failShare', { failShare: Number.NaN }],
  ['fault', { fault: 'explode' as Fault }],
  ['fault', { fault: 'reset', respond: '503,200' }],
  ['seed', { seed: 0.5 }],
  ['delayMs', { delayMs: -1 }],
  ['delayMs', { delayMs: 3_600_001 }],
  ['delayMs', { delayMs: { fromMs: 2, toMs: 1 } }],
  ['delayMs', { delayMs: { fromMs: 0, toMs: 3_600_001 } }],
  ['eventsMax', { eventsMax: Number.NaN }],
  ['secret', { secret: '' }],
  ['strict', { strict: true }],
])('%s is refused: %j', (setting, options) => {
  expect(() => new Receiver(options)).toThrow(SettingError)
  expect(() => new Receiver(options)).toThrow(expect.objectContaining({ setting }))
})
