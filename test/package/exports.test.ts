import { expect, test } from 'vitest'
import * as evroute from '../../src/index.ts'
import * as service from '../../src/service/library.ts'
import * as testing from '../../src/testing/index.ts'

test('the public surface of evroute is this list', () => {
  expect(Object.keys(evroute).sort()).toEqual([
    'Client',
    'EvrouteError',
    'ExpectationError',
    'ManualClock',
    'Receiver',
    'SettingError',
    'createInProcessTransport',
    'createRuntime',
    'signBody',
    'verifySignature',
  ])
})

test('the public surface of evroute/service is this list', () => {
  expect(Object.keys(service).sort()).toEqual(['ConfigurationError', 'createService'])
})

test('the public surface of evroute/testing is this list', () => {
  expect(Object.keys(testing).sort()).toEqual([
    'ExpectationError',
    'checkHandler',
    'startReceiver',
    'startService',
  ])
})
