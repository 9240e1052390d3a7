import { describe, expect, test } from 'vitest'
import { clientSettings, type ClientOptions } from '../../src/client/options.ts'
import { SettingError } from '../../src/model/index.ts'
import { ScriptedTransport, manualRuntime } from './support.ts'

function refusal(writeKey: unknown, options: unknown = {}): SettingError {
  try {
    clientSettings(writeKey as string, options as ClientOptions)
  } catch (error) {
    if (error instanceof SettingError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

describe('clientSettings', () => {
  test('fills in the defaults of the specification and freezes them', () => {
    const settings = clientSettings('wk_example')
    expect(settings).toMatchObject({
      writeKey: 'wk_example',
      flushAt: 20,
      flushAfterMs: 5_000,
      queueMax: 10_000,
      disabled: false,
    })
    expect(Object.isFrozen(settings)).toBe(true)
  })

  test('keeps copies of its options', () => {
    const runtime = manualRuntime()
    const transport = new ScriptedTransport()
    const options = { size: 5, flushAfterMs: 0, queueMax: 7, disabled: true, transport, runtime }
    const settings = clientSettings('wk_example', options)
    options.size = 6
    expect(settings).toMatchObject({ flushAt: 5, flushAfterMs: 0, queueMax: 7, disabled: true })
    expect(settings.transport).toBe(transport)
    expect(settings.runtime.clock).toBe(runtime.clock)
  })

  test('refuses an option that does not exist, because its default would apply instead', () => {
    expect(refusal('wk_example', { host: 'https://events.example.com' })).toMatchObject({
      setting: 'host',
      message: 'Cannot use the option host: no such option exists',
      hint: expect.stringMatching(/^The options are endpoint, flushAt, /) as unknown,
    })
    expect(refusal('wk_example', { flushAfter: 1 }).hint).toBe('Did you mean flushAfterMs?')
  })

  test('treats size and flushAt as synonyms', () => {
    expect(clientSettings('wk_example', { size: 1 }).flushAt).toBe(1)
    expect(clientSettings('wk_example', { size: 3, flushAt: 3 }).flushAt).toBe(3)
    expect(refusal('wk_example', { size: 3, flushAt: 4 })).toMatchObject({
      setting: 'size',
      message: 'Cannot use size 3 and flushAt 4: they are two names for the same setting',
    })
  })

  test('allows joining up to batchMax, by default not at all', () => {
    expect(clientSettings('wk_example').batchMax).toBe(20)
    expect(clientSettings('wk_example', { size: 7 }).batchMax).toBe(7)
    expect(clientSettings('wk_example', { batchMax: 2_500 }).batchMax).toBe(2_500)
    expect(refusal('wk_example', { flushAt: 30, batchMax: 29 }).message).toContain(
      'a whole number from 30 to 2500',
    )
  })

  test.each<[keyof ClientOptions, readonly unknown[], string]>([
    ['batchMax', [19, 2_501, 20.5, '20'], 'a whole number from 20 to 2500'],
    ['flushAt', [0, 2_501, 1.5, '20', NaN], 'a whole number from 1 to 2500'],
    ['size', [0, 2_501], 'a whole number from 1 to 2500'],
    ['flushAfterMs', [-1, 86_400_001, Infinity], 'a whole number from 0 to 86400000'],
    ['queueMax', [0, 1_000_001], 'a whole number from 1 to 1000000'],
    ['timeoutMs', [0, 300_001], 'a whole number from 1 to 300000'],
    [
      'endpoint',
      ['', 'localhost:4000', 'ftp://example.com/', '/v1/batch', 4],
      'not a full http or https URL',
    ],
    ['endpoint', ['https://user:fake-password@example.com/'], 'contains a user name or password'],
    ['disabled', ['yes', 0], 'true or false'],
    ['transport', [{}, { send: () => undefined }], 'lacks the method send or close'],
  ])('refuses %s %j', (setting, values, accepted) => {
    for (const value of values) {
      const error = refusal('wk_example', { [setting]: value })
      expect(error).toMatchObject({ code: 'invalid_setting', setting })
      expect(error.message).toMatch(/^Cannot /)
      expect(error.message).toContain(accepted)
    }
  })

  test.each(['', undefined, 7, 'x'.repeat(1_001), 'wk:example'])(
    'refuses the write key %j, without repeating it',
    (writeKey) => {
      const error = refusal(writeKey)
      expect(error.setting).toBe('writeKey')
      expect(error.message).not.toContain('wk:example')
    },
  )
})
