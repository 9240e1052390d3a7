import { beforeEach, describe, expect, test } from 'vitest'
import {
  afterArrival,
  initialKeysState,
  displayOf,
  keysLine,
  stepKeys,
  type KeyEffect,
  type KeysState,
} from '../../../../src/cli/listening/keys/step-keys.ts'
import { plainStyle } from '../../../../src/cli/output/style.ts'
import { keysOf } from '../../../../src/cli/terminal/key.ts'
import { parseMatch } from '../../../../src/match/index.ts'
import type { ReceivedEvent } from '../../../../src/receiver/index.ts'
import { receivedEvent } from './events.ts'

const start = initialKeysState(undefined)
const ping = receivedEvent(1, { type: 'track', userId: 'u_1', event: 'Ping' })
const page = receivedEvent(2, { type: 'page', userId: 'u_1', properties: {} })
const escape = '\u001b'
const [up, down] = ['\u001b[A', '\u001b[B']

/** The requests that can be picked. */
let kept: readonly ReceivedEvent[] = []
beforeEach(() => {
  kept = []
})

/** The state after keys that are pressed one by one, and all their effects. */
function press(input: string, from: KeysState = start) {
  const effects: KeyEffect[] = []
  let state = from
  for (const key of keysOf(input)) {
    const step = stepKeys(state, [key], kept)
    state = step.state
    effects.push(...step.effects)
  }
  return { state, effects, line: keysLine(state, 60, plainStyle) }
}

function textOf(effects: readonly KeyEffect[]): string {
  return effects.map((effect) => (effect.kind === 'tell' ? effect.text : '')).join('\n')
}

describe('keys', () => {
  test.each([
    { key: 'c', effects: [{ kind: 'clear' }] },
    { key: 'C', effects: [{ kind: 'clear' }] },
    { key: '\u001a', effects: [{ kind: 'suspend' }] },
    { key: 'x', effects: [] },
    { key: escape, effects: [] },
    { key: '\u001b[A', effects: [] },
    { key: '\u001b[B', effects: [] },
  ])('$key', ({ key, effects }) => {
    expect(press(key)).toMatchObject({ state: start, effects })
  })

  test.each([
    { key: '\r', kind: 'show' },
    { key: 'r', kind: 'resend' },
    { key: 's', kind: 'save' },
  ])('$kind acts on the last request that was shown', ({ key, kind }) => {
    expect(textOf(press(key).effects)).toBe('No request has been shown yet.')
    const state = afterArrival(afterArrival(start, page), ping)
    expect(press(key, state).effects).toEqual([{ kind, event: ping }])
  })

  test.each(['h', '?'])('%s explains every key', (key) => {
    const text = textOf(press(key).effects)
    for (const key of ['enter', 'r', 'p', 'f', '/', 's', 'c', 'q']) {
      expect(text).toMatch(new RegExp(`^  ${key} `, 'm'))
    }
  })

  test('pasted text is not read as keys', () => {
    const { state, effects } = stepKeys(start, keysOf('quit this'), kept)
    expect(state).toBe(start)
    expect(textOf(effects)).toMatch(/^Ignored a paste/)
    expect(stepKeys(start, keysOf('first line\rquit'), kept).effects).toHaveLength(1)
    expect(stepKeys(start, keysOf('hc'), kept).effects).toHaveLength(2)
    expect(stepKeys(start, keysOf('some text\u0003'), kept).effects.at(-1)?.kind).toBe('interrupt')
    expect(stepKeys(start, keysOf('/type:page\r'), kept).state.filter?.text).toBe('type:page')
    expect(stepKeys(start, keysOf('\u001b[A'.repeat(20)), kept).effects).toEqual([])
  })
})

describe('ending', () => {
  test.each(['q', '\u0003', 'f\u0003', '/abc\u0003'])('%j asks to end', (input) => {
    const { effects, line } = press(input)
    expect(effects).toEqual([{ kind: 'interrupt' }])
    expect(line).toBe('Ending. Press Ctrl-C to quit at once')
  })

  test('only Ctrl-C asks again', () => {
    expect(press('qqh\r').effects).toHaveLength(1)
    expect(press('q\u0003').effects).toEqual([{ kind: 'interrupt' }, { kind: 'interrupt' }])
  })
})

describe('picking an earlier request', () => {
  const other = receivedEvent(3, { type: 'track', userId: 'u_2', event: 'Pong' })
  const state = [ping, page, other].reduce(afterArrival, start)
  beforeEach(() => {
    kept = [ping, page, other]
  })

  test('arrows move up and down, and past the last one to none', () => {
    expect(press(up, state).state.picked).toBe(other)
    expect(press(`${up}k`, state).state.picked).toBe(page)
    expect(press(up.repeat(9), state).state.picked).toBe(ping)
    expect(press(`${up}${up}${down}`, state).state.picked).toBe(other)
    expect(press(`${up}j`, state).state.picked).toBeUndefined()
    expect(press(`${up}${escape}`, state).state.picked).toBeUndefined()
    expect(press(up, state).line).toBe('▸ #3 track u_2 Pong · h help · enter show · r resend')
  })

  test('a key after a number acts on that request', () => {
    expect(press('1r', state).effects).toEqual([{ kind: 'resend', event: ping }])
    expect(press('2y', state).state).toMatchObject({ picked: page, mode: { kind: 'keys' } })
    expect(press(`2${up}`, state).state.picked).toBe(ping)
    expect(textOf(press('7r', state).effects)).toMatch(
      /^Request #7 does not exist, is no longer kept/,
    )
  })

  test('a number shows a request and keeps it picked', () => {
    expect(press('12', state).line).toBe('#12')
    const { state: picked, effects } = press('12\u007f\r', state)
    expect(effects).toEqual([{ kind: 'show', event: ping }])
    expect(press('r', picked).effects).toEqual([{ kind: 'resend', event: ping }])
    expect(press(`2${escape}`, state).state).toEqual(state)
    expect(textOf(press('7\r', state).effects)).toBe(
      'Request #7 does not exist, is no longer kept, or is hidden by the filter.',
    )
  })

  test.each([
    { key: 'e', kind: 'edit' },
    { key: 'y', kind: 'curl' },
    { key: 's', kind: 'save' },
  ])('$key does $kind with it', ({ key, kind }) => {
    expect(press(`${up}${up}${key}`, state).effects).toEqual([{ kind, event: page }])
  })

  test('d compares it with the previous one of its type, or with one by number', () => {
    expect(press('d', state).line).toBe('Compare with # (enter: the previous one)')
    expect(press('d\r', state).effects).toEqual([{ kind: 'compare', event: other, other: ping }])
    expect(press('d2\r', state).effects).toEqual([{ kind: 'compare', event: other, other: page }])
    expect(textOf(press(`${up}${up}d\r`, state).effects)).toMatch(
      /^There is no earlier request of this type/,
    )
    expect(textOf(press('d').effects)).toBe('No request has been shown yet.')
  })

  test('picks only requests that the filter shows', () => {
    const filtered = { ...state, filter: parseMatch('type:page') }
    expect(press(up, filtered).state.picked).toBe(page)
  })
})

describe('pausing', () => {
  test('counts requests without showing them, and says at the end how many arrived', () => {
    const before = afterArrival(start, ping)
    const paused = press('p', before)
    expect(textOf(paused.effects)).toMatch(/^Paused: /)
    expect(displayOf(paused.state, page)).toBe('hold')
    const later = afterArrival(afterArrival(paused.state, page), page)
    expect(later.last).toBe(ping)
    expect(press('', later).line).toBe('paused, 2 new · h help · q quit · 3 received · f fail next')
    const on = press('p', later)
    expect(textOf(on.effects)).toBe('Resumed: 2 requests arrived.\n')
    expect(on.effects.at(-1)).toEqual({ kind: 'show_held' })
    expect(displayOf(on.state, page)).toBe('show')
    expect(textOf(press('pp').effects)).toMatch(/Resumed: 0 requests/)
    expect(textOf(press('p', afterArrival(press('p').state, ping)).effects)).toMatch(
      /: 1 request a/,
    )
  })
})

describe('the next failure', () => {
  test.each([
    { key: '5', failure: 503 },
    { key: 't', failure: 'hang' },
    { key: 'T', failure: 'hang' },
  ])('f $key', ({ key, failure }) => {
    expect(press('f').line).toBe('Press 5 for 503, t for timeout, or esc')
    const { state, effects } = press(`f${key}`)
    expect(effects).toEqual([{ kind: 'fail_next', failure }])
    expect(state.mode).toEqual({ kind: 'keys' })
  })

  test('esc cancels it, and other keys do nothing', () => {
    expect(press('fhq\r').state.mode).toEqual({ kind: 'failure' })
    expect(press(`f${escape}`)).toMatchObject({ state: start, effects: [] })
  })
})

describe('filtering', () => {
  test('shows only matching requests from then on', () => {
    const { state, effects, line } = press('/ type:track \r')
    expect(textOf(effects)).toBe('Only requests that match type:track are shown: 0 so far.')
    expect(line).toBe('/ type:track · h help · q quit · 0 received · f fail next')
    expect([ping, page].map((event) => displayOf(state, event))).toEqual(['show', 'hide'])
    expect(afterArrival(afterArrival(state, ping), page)).toMatchObject({ arrived: 2, last: ping })
  })

  test('keys no longer act on hidden requests', () => {
    kept = [ping, page]
    const before = kept.reduce(afterArrival, start)
    const picked = press(up, before).state
    expect(picked.picked).toBe(page)
    const { state, effects } = press('/type:track\r', picked)
    expect(textOf(effects)).toBe(
      'Only requests that match type:track are shown: 1 so far. Press the up arrow to pick it.',
    )
    expect(press('e', state).effects).toEqual([{ kind: 'edit', event: ping }])
    const none = press('/type:delete\r', picked).state
    expect(textOf(press('e', none).effects)).toBe('No request has been shown yet.')
    expect(press('/\u0015\re', none).effects.at(-1)).toEqual({ kind: 'edit', event: page })
    const same = press('/type:page\r', picked).state
    expect(same.picked).toBe(page)
  })

  test('a mistake in a match expression is marked, and can be corrected', () => {
    const wrong = press('/type:trick\r')
    expect(textOf(wrong.effects)).toMatch(
      /^Cannot read the match expression at character 6: .*\n  type:trick\n {7}\^{5}$/s,
    )
    expect(wrong.line).toBe('/ type:trick')
    const { state } = press(`${'\u007f'.repeat(3)}ack\r`, wrong.state)
    expect(state.filter?.text).toBe('type:track')
  })

  test('esc keeps the filter, and an empty one shows all', () => {
    const filtered = initialKeysState(parseMatch('type:page'))
    expect(press('/').line).toBe('/ ')
    expect(press('/', filtered).line).toBe('/ type:page')
    expect(press(`/ sig:valid${escape}`, filtered).state).toEqual(filtered)
    const { state, effects } = press('/\u0015\r', filtered)
    expect(state.filter).toBeUndefined()
    expect(textOf(effects)).toBe('All requests are shown.')
  })

  test('letters are text, even if they are pasted', () => {
    const { state } = stepKeys(press('/').state, keysOf('event:"quick push"'), kept)
    expect(press('\r', state).state.filter?.text).toBe('event:"quick push"')
  })
})

test('the line is as long as the window is wide', () => {
  const style = plainStyle
  const state = press('/type:track event:"Order Completed"\rp').state
  expect(keysLine(state, 30, style)).toBe('paused, 0 new · / ty… · h help')
  expect(keysLine(press('f').state, 20, style)).toHaveLength(20)
  expect(keysLine(press('/abcdefghijkl').state, 10, style)).toBe('/ …fghijkl')
})
