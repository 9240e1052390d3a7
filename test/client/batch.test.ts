import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Batch, type EncodedCall } from '../../src/client/batch.ts'
import { encodeEnvelope, envelopeBytes } from '../../src/client/envelope.ts'
import { encodedCall, startMs } from './support.ts'

/** Gathers calls one by one as a client does, and returns the calls of every batch. */
function batches(calls: readonly EncodedCall[], callsMax: number, bytesMax: number) {
  const batch = new Batch({ callsMax, bytesMax })
  const sent: (readonly EncodedCall[])[] = []
  for (const call of calls) {
    if (!batch.join([call])) {
      sent.push(batch.take())
      batch.join([call])
    }
    if (batch.isFull) sent.push(batch.take())
  }
  return [...sent, batch.take()].filter(({ length }) => length > 0)
}

function textOf(bytes: number): EncodedCall {
  return encodedCall('m', 'x'.repeat(bytes))
}

describe('Batch', () => {
  const limits = { callsMax: 4, bytesMax: 32 }

  test('accepts calls in order, up to callsMax', () => {
    const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((id) => encodedCall(id, id))
    const batch = new Batch(limits)
    expect(batch.join([a!])).toBe(true)
    expect(batch.join([b!, c!])).toBe(true)
    expect(batch.join([d!, e!])).toBe(false)
    expect(batch.calls).toEqual([a, b, c])
    expect([batch.isFull, batch.join([d!]), batch.isFull]).toEqual([false, true, true])
    expect(batch.take()).toEqual([a, b, c, d])
    expect(batch.take()).toEqual([])
  })

  test('counts one comma between two calls and no more', () => {
    // 10 + 1 + 10 + 1 + 10
    const batch = new Batch(limits, [textOf(10)])
    expect(batch.join([textOf(10), textOf(11)])).toBe(false)
    expect(batch.join([textOf(10), textOf(10)])).toBe(true)
    const calls = [textOf(10), textOf(10), textOf(10)]
    expect(batches(calls, 20, 32).map(({ length }) => length)).toEqual([3])
    expect(batches(calls, 20, 31).map(({ length }) => length)).toEqual([2, 1])
  })

  test('does not change the calls that are added', () => {
    const first = [encodedCall('a', 'a')]
    const batch = new Batch(limits, first)
    batch.join([encodedCall('b', 'b')])
    expect(first).toHaveLength(1)
  })

  test('stays within the limits in serialised bytes, loses nothing and keeps the order', () => {
    const input = fc.record({
      texts: fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 60 }),
      writeKey: fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
      callsMax: fc.integer({ min: 1, max: 30 }),
      spareBytes: fc.integer({ min: 0, max: 4_000 }),
    })
    fc.assert(
      fc.property(input, ({ texts, writeKey, callsMax, spareBytes }) => {
        const calls = texts.map((value, index) =>
          encodedCall(`${index}`, JSON.stringify({ value })),
        )
        const largest = Math.max(0, ...calls.map((call) => call.bytes))
        const bodyBytesMax = envelopeBytes(writeKey) + largest + spareBytes
        const sent = batches(calls, callsMax, bodyBytesMax - envelopeBytes(writeKey))
        for (const batch of sent) {
          const body = encodeEnvelope({ calls: batch, sentAtMs: startMs, writeKey })
          expect(Buffer.byteLength(body)).toBeLessThanOrEqual(bodyBytesMax)
          expect(batch.length).toBeLessThanOrEqual(callsMax)
          expect(batch.length).toBeGreaterThan(0)
        }
        expect(sent.flat()).toEqual(calls)
      }),
    )
  })

  test('fills every batch until the next call would exceed a limit', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 100 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 2, max: 20 }), (lengths, callsMax) => {
        const bytesMax = 250
        const sent = batches(lengths.map(textOf), callsMax, bytesMax)
        sent.slice(0, -1).forEach((batch, index) => {
          const first = sent[index + 1]?.[0]?.bytes ?? 0
          const bytes = batch.reduce((sum, call) => sum + call.bytes + 1, first)
          expect(batch.length === callsMax || bytes > bytesMax).toBe(true)
        })
      }),
    )
  })
})
