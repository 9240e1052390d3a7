import { describe, expect, test } from 'vitest'
import { WaitingBatch } from '../../src/client/batch.ts'
import { answerWaitMsMax, gapMs, Line, type Turn } from '../../src/client/line.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { encodedCall, startMs } from './support.ts'

const limits = { callsMax: 4, bytesMax: 1_000 }

/** A line of two places, and what it let go: the turns by the ids of their calls, as in `bc`. */
function lineOf(options: { readonly holdsBack?: boolean } = {}) {
  const clock = new ManualClock(startMs)
  const line = new Line({ inFlightMax: 2, holdsBack: true, clock, ...options })
  const turns = new Map<string, Turn>()
  const add = (ids: string): void => {
    const calls = Array.from(ids, (id) => encodedCall(id))
    if (line.join(calls)) return
    const batch = new WaitingBatch(calls, limits)
    void line.turnOf(batch).then((turn) => {
      turns.set(batch.calls.map(({ messageId }) => messageId).join(''), turn)
    })
  }
  const gone = async (afterMs = 0): Promise<readonly string[]> => {
    await clock.advance(afterMs)
    return [...turns.keys()]
  }
  return { line, clock, add, gone, turnOf: (ids: string) => turns.get(ids) }
}

describe('Line', () => {
  test('lets a batch go at once, and joins others until it is answered', async () => {
    const { add, gone, turnOf, clock } = lineOf()
    for (const ids of ['a', 'b', 'c']) add(ids)
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a'])
    turnOf('a')?.end()
    expect(await gone()).toEqual(['a', 'bc'])
    turnOf('bc')?.end()
    expect(clock.nextDueMs()).toBeUndefined()
    expect(await gone(gapMs)).toEqual(['a', 'bc'])
    add('d')
    expect(await gone()).toEqual(['a', 'bc', 'd'])
  })

  test('waits for the gap when the answer comes early', async () => {
    const { add, gone, turnOf, clock } = lineOf()
    add('a')
    await gone(3)
    add('b')
    turnOf('a')?.end()
    expect(await gone(gapMs - 4)).toEqual(['a'])
    add('c')
    expect(await gone(1)).toEqual(['a', 'bc'])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('waits for no answer longer than a second, and each batch for as long as that', async () => {
    const { add, gone, turnOf, clock } = lineOf()
    for (const ids of ['a', 'b']) add(ids)
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a'])
    expect(await gone(1)).toEqual(['a', 'b'])
    expect(clock.nextDueMs()).toBeUndefined()
    turnOf('a')?.end()
    add('c')
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a', 'b'])
    expect(await gone(1)).toEqual(['a', 'b', 'c'])
  })

  test('lets full batches go beside others, as long as there are places', async () => {
    const { add, gone, turnOf } = lineOf()
    for (const ids of ['a', 'bc', 'de']) add(ids)
    expect(await gone()).toEqual(['a', 'bcde'])
    for (const ids of ['f', 'ghij', 'k']) add(ids)
    expect(await gone()).toEqual(['a', 'bcde'])
    turnOf('bcde')?.end()
    expect(await gone()).toEqual(['a', 'bcde', 'f'])
    turnOf('a')?.end()
    expect(await gone()).toEqual(['a', 'bcde', 'f', 'ghij'])
    turnOf('f')?.end()
    turnOf('ghij')?.end()
    expect(await gone(gapMs)).toEqual(['a', 'bcde', 'f', 'ghij', 'k'])
  })

  test('lets one go that has no room for the next', async () => {
    const { add, gone } = lineOf()
    for (const ids of ['a', 'bcd', 'ef']) add(ids)
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a', 'bcd'])
  })

  test('holds nobody back for one that is tried again, but for its place', async () => {
    const { add, gone, turnOf } = lineOf()
    for (const ids of ['a', 'b']) add(ids)
    await gone(gapMs)
    turnOf('a')?.retry()
    expect(await gone()).toEqual(['a', 'b'])
    turnOf('b')?.retry()
    for (const ids of ['c', 'defg']) add(ids)
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a', 'b'])
    turnOf('a')?.retry()
    turnOf('a')?.end()
    expect(await gone()).toEqual(['a', 'b', 'c'])
    turnOf('b')?.end()
    expect(await gone()).toEqual(['a', 'b', 'c', 'defg'])
  })

  test('still waits for the answers to others when one was tried again more than once', async () => {
    const { add, gone, turnOf } = lineOf()
    for (const ids of ['a', 'bcde']) add(ids)
    await gone()
    turnOf('a')?.retry()
    turnOf('a')?.retry()
    turnOf('a')?.end()
    add('f')
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a', 'bcde'])
    turnOf('bcde')?.end()
    expect(await gone()).toEqual(['a', 'bcde', 'f'])
  })

  test('waits for the gap anew when another went within it', async () => {
    const { add, gone, turnOf } = lineOf()
    add('a')
    await gone()
    turnOf('a')?.end()
    add('bcd')
    expect(await gone(3)).toEqual(['a'])
    add('ef')
    expect(await gone()).toEqual(['a', 'bcd'])
    turnOf('bcd')?.end()
    expect(await gone(gapMs - 1)).toEqual(['a', 'bcd'])
    expect(await gone(1)).toEqual(['a', 'bcd', 'ef'])
  })

  test('in a hurry waits for a place alone, not for an answer or the gap', async () => {
    const { line, add, gone, turnOf, clock } = lineOf()
    for (const ids of ['a', 'b']) add(ids)
    expect(await gone()).toEqual(['a'])
    line.hurry()
    expect(await gone()).toEqual(['a', 'b'])
    add('c')
    line.hurry()
    expect(await gone()).toEqual(['a', 'b'])
    turnOf('b')?.end()
    expect(await gone()).toEqual(['a', 'b', 'c'])
    expect(clock.nextDueMs()).toBeUndefined()
    for (const ids of ['a', 'c']) turnOf(ids)?.end()
    add('d')
    expect(await gone(gapMs)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('is in no hurry with what comes later', async () => {
    const { line, add, gone, turnOf } = lineOf()
    add('a')
    line.hurry()
    add('b')
    expect(await gone(answerWaitMsMax - 1)).toEqual(['a'])
    add('c')
    turnOf('a')?.end()
    expect(await gone()).toEqual(['a', 'bc'])
  })

  test('holds nothing back where that is not wanted', async () => {
    const { add, gone, turnOf } = lineOf({ holdsBack: false })
    for (const ids of ['a', 'b', 'c', 'd']) add(ids)
    expect(await gone()).toEqual(['a', 'b'])
    turnOf('b')?.end()
    expect(await gone()).toEqual(['a', 'b', 'cd'])
  })

  test('waits on when a timer comes early by the clock', async () => {
    const { add, gone, clock } = lineOf()
    for (const ids of ['a', 'b']) add(ids)
    await gone()
    clock.jump(-5)
    expect(await gone(answerWaitMsMax)).toEqual(['a'])
    expect(await gone(5)).toEqual(['a', 'b'])
  })

  test('does not wait for a clock that was set back', async () => {
    const { add, gone, turnOf, clock } = lineOf()
    add('a')
    await gone()
    turnOf('a')?.end()
    clock.jump(-3_600_000)
    add('b')
    expect(await gone()).toEqual(['a', 'b'])
  })
})
