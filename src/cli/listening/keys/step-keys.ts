import { parseMatch } from '../../../match/index.ts'
import { SettingError } from '../../../model/index.ts'
import { formatCount } from '../../output/numbers.ts'
import { editLine, type EditedLine } from '../../terminal/edited-line.ts'
import type { Key } from '../../terminal/key.ts'
import { keysHelp } from './keys-help.ts'
import type { KeyEffect, KeysState, KeysStep } from './keys-state.ts'

/** So many keys at once must be a paste, probably into the wrong window. */
const pastedMin = 8

/** Handles keys that came at once. Pure. */
export function stepKeys(state: KeysState, keys: readonly Key[]): KeysStep {
  if (state.mode.kind !== 'filter' && isPasted(keys)) {
    return tell(state, 'What was pasted is not read as keys: press / before it to filter by it.')
  }
  const effects: KeyEffect[] = []
  let next = state
  for (const key of keys) {
    const step = stepKey(next, key)
    next = step.state
    effects.push(...step.effects)
  }
  return { state: next, effects }
}

function isPasted(keys: readonly Key[]): boolean {
  const [first] = keys
  // After `/`, pasted text goes into the filter.
  if (first?.kind === 'character' && first.text === '/') return false
  const isInterrupted = keys.some(({ kind }) => kind === 'interrupt')
  return !isInterrupted && keys.filter(({ kind }) => kind === 'character').length >= pastedMin
}

function stepKey(state: KeysState, key: Key): KeysStep {
  if (key.kind === 'interrupt') return interrupted(state)
  if (key.kind === 'suspend') return { state, effects: [{ kind: 'suspend' }] }
  switch (state.mode.kind) {
    case 'keys':
      return stepPlainKey(state, key)
    case 'failure':
      return stepFailure(state, key)
    case 'filter':
      return stepFilter(state, state.mode.line, key)
    case 'ending':
      return { state, effects: [] }
  }
}

/** The letter keys; upper case counts too. */
const letters: ReadonlyMap<string, (state: KeysState) => KeysStep> = new Map([
  ['h', (state) => tell(state, keysHelp)],
  ['r', (state) => withLast(state, 'resend')],
  ['p', paused],
  ['f', (state) => ({ state: { ...state, mode: { kind: 'failure' } }, effects: [] })],
  ['/', (state) => editing(state, state.filter?.text ?? '')],
  ['s', (state) => withLast(state, 'save')],
  ['c', (state) => ({ state, effects: [{ kind: 'clear' }] })],
  ['o', (state) => ({ state, effects: [{ kind: 'open_page' }] })],
  ['q', interrupted],
])

function stepPlainKey(state: KeysState, key: Key): KeysStep {
  if (key.kind === 'enter') return withLast(state, 'show')
  const step = key.kind === 'character' ? letters.get(key.text.toLowerCase()) : undefined
  return step?.(state) ?? { state, effects: [] }
}

function interrupted(state: KeysState): KeysStep {
  return { state: { ...state, mode: { kind: 'ending' } }, effects: [{ kind: 'interrupt' }] }
}

function withLast(state: KeysState, kind: 'show' | 'resend' | 'save'): KeysStep {
  const { last: event } = state
  if (event === undefined) return tell(state, 'No request has been shown yet.')
  return { state, effects: [{ kind, event }] }
}

function paused(state: KeysState): KeysStep {
  const { arrivedInPause: arrived } = state
  if (arrived === undefined) {
    return tell(
      { ...state, arrivedInPause: 0 },
      'Paused: what arrives is answered, counted and saved as before, but not shown. p goes on.',
    )
  }
  const requests = `${formatCount(arrived)} ${arrived === 1 ? 'request' : 'requests'}`
  return tell({ ...state, arrivedInPause: undefined }, `Going on: ${requests} arrived meanwhile.`)
}

function stepFailure(state: KeysState, key: Key): KeysStep {
  const text = key.kind === 'character' ? key.text.toLowerCase() : ''
  const left: KeysState = { ...state, mode: { kind: 'keys' } }
  if (text === '5') return { state: left, effects: [{ kind: 'fail_next', failure: 503 }] }
  if (text === 't') return { state: left, effects: [{ kind: 'fail_next', failure: 'hang' }] }
  return key.kind === 'escape' ? { state: left, effects: [] } : { state, effects: [] }
}

function editing(state: KeysState, text: string): KeysStep {
  return {
    state: { ...state, mode: { kind: 'filter', line: { before: text, after: '' } } },
    effects: [],
  }
}

function stepFilter(state: KeysState, line: EditedLine, key: Key): KeysStep {
  const left: KeysState = { ...state, mode: { kind: 'keys' } }
  if (key.kind === 'escape') return { state: left, effects: [] }
  if (key.kind !== 'enter') {
    return { state: { ...state, mode: { kind: 'filter', line: editLine(line, key) } }, effects: [] }
  }
  const text = (line.before + line.after).trim()
  if (text === '') return tell({ ...left, filter: undefined }, 'All requests are shown.')
  try {
    const filter = parseMatch(text)
    return tell({ ...left, filter }, `Only requests that match ${filter.text} are shown.`)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    return tell(state, `${error.message}. ${error.hint ?? ''}`)
  }
}

function tell(state: KeysState, text: string): KeysStep {
  return { state, effects: [{ kind: 'tell', text }] }
}
