import { describe, expect, test } from 'vitest'
import { traceparentOf } from '../../src/tracking-api/traceparent.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const none = { traceId: '0'.repeat(32), spanId: '0'.repeat(16) }

describe('the traceparent of a request', () => {
  test.each(['00', '01', '02', 'ff'])('is kept unchanged, with the flags %s', (flags) => {
    const traceparent = `00-${traceId}-${spanId}-${flags}`
    expect(traceparentOf({ traceparent })).toBe(traceparent)
  })

  test.each([
    [`01-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-01`],
    [`cc-${traceId}-${spanId}-02`, `00-${traceId}-${spanId}-00`],
    [`fe-${traceId}-${spanId}-ff-what the future will be like`, `00-${traceId}-${spanId}-01`],
  ])('of a higher version is read as far as its format is known: %s', (traceparent, read) => {
    expect(traceparentOf({ traceparent })).toBe(read)
  })

  test.each([
    ['a missing header', undefined],
    ['an empty header', ''],
    ['two headers', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['the forbidden version', `ff-${traceId}-${spanId}-01`],
    ['a trace id of zeros', `00-${none.traceId}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${none.spanId}-01`],
    ['a short trace id', `00-${traceId.slice(1)}-${spanId}-01`],
    ['a letter that is not a hexadecimal digit', `00-${traceId}-g${spanId.slice(1)}-01`],
    ['missing flags', `00-${traceId}-${spanId}`],
    ['long flags', `00-${traceId}-${spanId}-011`],
    ['an extra field in version 00', `00-${traceId}-${spanId}-01-more`],
    ['extra text without a hyphen', `01-${traceId}-${spanId}-01more`],
    ['white space', `00-${traceId}-${spanId}-01\n`],
  ])('is ignored if it has %s', (_, traceparent) => {
    expect(traceparentOf(traceparent === undefined ? {} : { traceparent })).toBeUndefined()
  })
})
