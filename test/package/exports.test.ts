import { expect, test } from 'vitest'
import * as evroute from '../../src/index.ts'

test('the public surface is this list, and changes on purpose only', () => {
  expect(Object.keys(evroute).sort()).toEqual([
    'Client',
    'EvrouteError',
    'ManualClock',
    'Receiver',
    'SettingError',
    'createInProcessTransport',
    'createRuntime',
    'signBody',
    'verifySignature',
  ])
})
