import { expect, test } from 'vitest'
import { limits } from '../../src/model/index.ts'

test('the limits are those of the specification and of the tracking protocol', () => {
  expect(limits).toEqual({
    callBytesMax: 32_768,
    callNestingMax: 500,
    messageIdLengthMax: 512,
    batchBytesMax: 500_000,
    intakeBatchBytesMax: 512_000,
    intakeBatchEventsMax: 2_500,
    intakeBatchMergedBytesMax: 4_194_304,
    endpointsMax: 5,
    endpointDeadlineMs: 5_000,
    retryWindowMs: 14_400_000,
    retryWindowMsMax: 30 * 24 * 60 * 60 * 1_000,
    historicalAgeMs: 86_400_000,
    webhookBytesMax: 1_048_576,
  })
  expect(Object.isFrozen(limits)).toBe(true)
})
