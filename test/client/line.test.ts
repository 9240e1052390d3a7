import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Batch } from '../../src/client/batch.ts'
import { Line } from '../../src/client/line.ts'
import { encodedCall } from './support.ts'

const limits = { callsMax: 4, bytesMax: 1_000 }

/**
 * A line that allows two batches in flight. `started` returns each batch as the ids of its calls, such as
 * `bc`.
 */
function lineOfTwo() {
  const line = new Line(2)
  const begun: string[] = []
  const add = (ids: string): void => {
    const calls = Array.from(ids, (id) => encodedCall(id))
    if (line.join(calls)) return
    const batch = new Batch(limits, calls)
    void line.turnOf(batch).then(() => {
      begun.push(batch.calls.map(({ messageId }) => messageId).join(''))
    })
  }
  const started = async (): Promise<readonly string[]> => {
    await nextTurn()
    return begun
  }
  return { line, add, started }
}

describe('Line', () => {
  test('starts batches immediately and unchanged while fewer than the maximum are in flight', async () => {
    const { add, started } = lineOfTwo()
    for (const ids of ['a', 'b']) add(ids)
    expect(await started()).toEqual(['a', 'b'])
  })

  test('joins waiting batches up to their limit', async () => {
    const { line, add, started } = lineOfTwo()
    for (const ids of ['a', 'b', 'c', 'de', 'fg', 'h']) add(ids)
    expect(await started()).toEqual(['a', 'b'])
    line.end()
    expect(await started()).toEqual(['a', 'b', 'cde'])
    line.end()
    expect(await started()).toEqual(['a', 'b', 'cde', 'fgh'])
  })

  test('keeps the order of batches', async () => {
    const { line, add, started } = lineOfTwo()
    for (const ids of ['a', 'b', 'cdef', 'g', 'hijk', 'l']) add(ids)
    for (let ended = 0; ended < 4; ended++) line.end()
    expect(await started()).toEqual(['a', 'b', 'cdef', 'g', 'hijk', 'l'])
  })

  test('starts the next batch unchanged once no batch is waiting', async () => {
    const { line, add, started } = lineOfTwo()
    for (const ids of ['a', 'b', 'c']) add(ids)
    for (let ended = 0; ended < 3; ended++) line.end()
    add('d')
    expect(await started()).toEqual(['a', 'b', 'c', 'd'])
  })
})
