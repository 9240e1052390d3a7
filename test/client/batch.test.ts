import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Batcher, WaitingBatch, type EncodedCall } from '../../src/client/batch.ts'
import { encodeEnvelope, envelopeBytes } from '../../src/client/envelope.ts'
import { encodedCall, startMs } from './support.ts'

/** Feeds a batcher and returns every batch, including the last partial one. */
function batches(calls: readonly EncodedCall[], callsMax: number, bytesMax: number) {
  const batcher = new Batcher({ callsMax, bytesMax })
  const full = calls.map((call) => batcher.push(call))
  return [...full, batcher.flush()].filter((batch) => batch !== undefined)
}

function textOf(bytes: number): EncodedCall {
  return encodedCall('m', 'x'.repeat(bytes))
}

describe('Batcher', () => {
  test('is full at callsMax', () => {
    const batcher = new Batcher({ callsMax: 3, bytesMax: 1_000 })
    const calls = ['a', 'b', 'c', 'd'].map((id) => encodedCall(id))
    expect(calls.map((call) => batcher.push(call))).toEqual([
      undefined,
      undefined,
      calls.slice(0, 3),
      undefined,
    ])
    expect(batcher.size).toBe(1)
    expect(batcher.flush()).toEqual([calls[3]])
    expect(batcher.size).toBe(0)
  })

  test('passes on every call at once with callsMax 1', () => {
    const batcher = new Batcher({ callsMax: 1, bytesMax: 1_000 })
    expect(batcher.push(encodedCall('a'))).toHaveLength(1)
    expect(batcher.flush()).toBeUndefined()
  })

  test('counts one comma between two calls and no more', () => {
    // 10 + 1 + 10 + 1 + 10
    const calls = [textOf(10), textOf(10), textOf(10)]
    expect(batches(calls, 20, 32).map((batch) => batch.length)).toEqual([3])
    expect(batches(calls, 20, 31).map((batch) => batch.length)).toEqual([2, 1])
  })

  test('keeps the call that did not fit for the next batch', () => {
    const batcher = new Batcher({ callsMax: 20, bytesMax: 20 })
    batcher.push(textOf(12))
    expect(batcher.push(textOf(13))).toEqual([textOf(12)])
    expect(batcher.size).toBe(1)
    expect(batcher.push(textOf(6))).toBeUndefined()
    expect(batcher.push(textOf(1))).toEqual([textOf(13), textOf(6)])
  })

  test('flush() returns nothing if there is nothing to flush', () => {
    expect(new Batcher({ callsMax: 2, bytesMax: 10 }).flush()).toBeUndefined()
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

describe('WaitingBatch', () => {
  const limits = { callsMax: 4, bytesMax: 32 }

  test('accepts batches in order, up to callsMax', () => {
    const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((id) => encodedCall(id, id))
    const batch = new WaitingBatch([a!], limits)
    expect(batch.join([b!, c!])).toBe(true)
    expect(batch.join([d!, e!])).toBe(false)
    expect(batch.calls).toEqual([a, b, c])
    expect(batch.join([d!])).toBe(true)
    expect(batch.calls).toEqual([a, b, c, d])
  })

  test('counts one comma between two calls and no more', () => {
    // 10 + 1 + 10 + 1 + 10
    const batch = new WaitingBatch([textOf(10)], limits)
    expect(batch.join([textOf(10), textOf(11)])).toBe(false)
    expect(batch.join([textOf(10), textOf(10)])).toBe(true)
  })

  test('does not change the batches it is built from', () => {
    const first = [encodedCall('a', 'a')]
    new WaitingBatch(first, limits).join([encodedCall('b', 'b')])
    expect(first).toHaveLength(1)
  })
})
