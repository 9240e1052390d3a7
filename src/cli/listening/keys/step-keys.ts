import { parseMatch, type Match } from '../../../match/index.ts'
import { SettingError } from '../../../model/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import { countOf, formatCount } from '../../output/numbers.ts'
import { editLine, type EditedLine, type Key } from '../../terminal/key.ts'

/** How the next key is interpreted. In `number`, digits identify a request to pick or to compare with. */
type KeysMode =
  | { readonly kind: 'keys' }
  | { readonly kind: 'failure' }
  | { readonly kind: 'filter'; readonly line: EditedLine }
  | { readonly kind: 'number'; readonly digits: string; readonly purpose: 'pick' | 'compare' }
  | { readonly kind: 'ending' }

/** The state of the keys of `listen`. */
export interface KeysState {
  readonly mode: KeysMode
  readonly filter: Match | undefined
  /** The number of requests since the display was paused; undefined if it is not paused. */
  readonly arrivedInPause: number | undefined
  readonly arrived: number
  /** The last request that was shown, or that a new filter shows. */
  readonly last: ReceivedEvent | undefined
  /** The request that keys act on; undefined for the last one. */
  readonly picked: ReceivedEvent | undefined
}

/** How the next webhook fails: with a status, or by a timeout. */
export type NextFailure = 503 | 'hang'

/** One effect type for each kind. */
type Effect<Kind extends string, Fields = object> = Kind extends unknown
  ? { readonly kind: Kind } & Readonly<Fields>
  : never

type EventEffect = Effect<'show' | 'resend' | 'save' | 'edit' | 'curl', { event: ReceivedEvent }>

/** An action that a key triggers. */
export type KeyEffect =
  | Effect<'tell', { text: string }>
  | EventEffect
  | Effect<'compare', { event: ReceivedEvent; other: ReceivedEvent }>
  | Effect<'fail_next', { failure: NextFailure }>
  | Effect<'clear' | 'interrupt' | 'suspend' | 'open_page' | 'show_held'>

interface KeysStep {
  readonly state: KeysState
  readonly effects: readonly KeyEffect[]
}

/** The state before the first key. */
export function initialKeysState(filter: Match | undefined): KeysState {
  return {
    mode: { kind: 'keys' },
    filter,
    arrivedInPause: undefined,
    arrived: 0,
    last: undefined,
    picked: undefined,
  }
}

/** Decides whether a new request is shown, held until the pause ends, or hidden. */
export function displayOf(
  { filter, arrivedInPause }: KeysState,
  event: ReceivedEvent,
): 'show' | 'hold' | 'hide' {
  if (filter?.test(event) === false) return 'hide'
  return arrivedInPause === undefined ? 'show' : 'hold'
}

/** Returns the state after a request has arrived. */
export function afterArrival(state: KeysState, event: ReceivedEvent): KeysState {
  const { arrived, arrivedInPause } = state
  return {
    ...state,
    arrived: arrived + 1,
    ...(arrivedInPause === undefined ? {} : { arrivedInPause: arrivedInPause + 1 }),
    ...(displayOf(state, event) === 'show' ? { last: event } : {}),
  }
}

/** At least this many characters at once count as pasted, probably into the wrong window. */
const pastedMin = 8

/**
 * Handles keys that arrived together. A pure function.
 *
 * @param events - the requests that the receiver keeps, oldest first
 */
export function stepKeys(
  state: KeysState,
  keys: readonly Key[],
  events: readonly ReceivedEvent[],
): KeysStep {
  if (state.mode.kind !== 'filter' && isPasted(keys)) {
    return tell(state, 'Ignored a paste. To filter by pasted text, press / first.')
  }
  const effects: KeyEffect[] = []
  let next = state
  for (const key of keys) {
    const step = stepKey(next, key, events)
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

type Events = readonly ReceivedEvent[]

function stepKey(state: KeysState, key: Key, kept: Events): KeysStep {
  if (key.kind === 'interrupt') return interrupted(state)
  if (key.kind === 'suspend') return { state, effects: [{ kind: 'suspend' }] }
  const events = matching(kept, state.filter)
  switch (state.mode.kind) {
    case 'keys':
      return stepPlainKey(state, key, events)
    case 'failure':
      return stepFailure(state, key)
    case 'filter':
      return stepFilter(state, state.mode.line, { key, kept })
    case 'number':
      return stepNumber(state, state.mode, { key, events })
    case 'ending':
      return { state, effects: [] }
  }
}

function matching(events: Events, filter: Match | undefined): Events {
  return filter === undefined ? events : events.filter((event) => filter.test(event))
}

/** Handlers by lower-case character or kind of key. */
const handlers = new Map<string, (state: KeysState, events: Events) => KeysStep>([
  ['enter', (state) => withCurrent(state, 'show')],
  ['up', (state, events) => picking(state, events, -1)],
  ['down', (state, events) => picking(state, events, 1)],
  ['escape', (state) => ({ state: { ...state, picked: undefined }, effects: [] })],
  ['h', (state) => tell(state, keysHelp)],
  ['?', (state) => tell(state, keysHelp)],
  ['r', (state) => withCurrent(state, 'resend')],
  ['e', (state) => withCurrent(state, 'edit')],
  ['y', (state) => withCurrent(state, 'curl')],
  ['d', comparing],
  ['k', (state, events) => picking(state, events, -1)],
  ['j', (state, events) => picking(state, events, 1)],
  ['p', paused],
  ['f', (state) => inMode(state, { kind: 'failure' })],
  ['/', editingFilter],
  ['s', (state) => withCurrent(state, 'save')],
  ['c', (state) => ({ state, effects: [{ kind: 'clear' }] })],
  ['o', (state) => ({ state, effects: [{ kind: 'open_page' }] })],
  ['q', interrupted],
])

function stepPlainKey(state: KeysState, key: Key, events: Events): KeysStep {
  const name = key.kind === 'character' ? key.text.toLowerCase() : key.kind
  if (digit.test(name)) return inMode(state, { kind: 'number', digits: name, purpose: 'pick' })
  return handlers.get(name)?.(state, events) ?? { state, effects: [] }
}

const digit = /^[0-9]$/

function inMode(state: KeysState, mode: KeysMode): KeysStep {
  return { state: { ...state, mode }, effects: [] }
}

/** Picks the request before or after the current one. After the newest, keys act on the last shown one again. */
function picking(state: KeysState, events: Events, by: -1 | 1): KeysStep {
  const { picked } = state
  const at = picked === undefined ? events.length : events.findIndex(({ seq }) => seq >= picked.seq)
  const next = Math.max((at === -1 ? events.length : at) + by, 0)
  return { state: { ...state, picked: events[next] }, effects: [] }
}

function comparing(state: KeysState): KeysStep {
  const { picked, last } = state
  if ((picked ?? last) === undefined) return withCurrent(state, 'show')
  return inMode(state, { kind: 'number', digits: '', purpose: 'compare' })
}

function stepNumber(
  state: KeysState,
  mode: Extract<KeysMode, { kind: 'number' }>,
  { key, events }: { readonly key: Key; readonly events: Events },
): KeysStep {
  const { digits } = mode
  const left: KeysState = { ...state, mode: { kind: 'keys' } }
  if (key.kind === 'character' && digit.test(key.text)) {
    return inMode(state, { ...mode, digits: (digits + key.text).slice(0, 15) })
  }
  if (key.kind === 'backspace') return inMode(state, { ...mode, digits: digits.slice(0, -1) })
  if (key.kind === 'escape') return { state: left, effects: [] }
  if (mode.purpose === 'compare') {
    return key.kind === 'enter' ? compareNumbered(left, digits, events) : { state, effects: [] }
  }
  const picked = events.find(({ seq }) => seq === Number(digits))
  return picked === undefined
    ? notKept(left, digits)
    : stepPlainKey({ ...left, picked }, key, events)
}

/** Without a number, compares with the previous request of the same type. */
function compareNumbered(state: KeysState, digits: string, events: Events): KeysStep {
  const event = state.picked ?? state.last
  if (event === undefined) return { state, effects: [] }
  const other =
    digits === ''
      ? events.findLast(({ seq, type }) => type === event.type && seq < event.seq)
      : events.find(({ seq }) => seq === Number(digits))
  if (other !== undefined) return { state, effects: [{ kind: 'compare', event, other }] }
  if (digits !== '') return notKept(state, digits)
  const hint = 'To compare with a different request, enter its number.'
  return tell(state, `There is no earlier request of this type. ${hint}`)
}

function notKept(state: KeysState, digits: string): KeysStep {
  return tell(state, `Request #${digits} is no longer kept, or is hidden by the filter.`)
}

function interrupted(state: KeysState): KeysStep {
  return { state: { ...state, mode: { kind: 'ending' } }, effects: [{ kind: 'interrupt' }] }
}

function withCurrent(state: KeysState, kind: EventEffect['kind']): KeysStep {
  const event = state.picked ?? state.last
  if (event === undefined) return tell(state, 'No request has been shown yet.')
  return { state, effects: [{ kind, event }] }
}

function paused(state: KeysState): KeysStep {
  const { arrivedInPause: arrived } = state
  if (arrived === undefined) {
    const text = 'Paused: requests are still answered and saved. Press p again to show them.'
    return tell({ ...state, arrivedInPause: 0 }, text)
  }
  const text = `Resumed: ${countOf(arrived, 'request')} arrived.`
  const next = { ...state, arrivedInPause: undefined }
  return { state: next, effects: [{ kind: 'tell', text }, { kind: 'show_held' }] }
}

function stepFailure(state: KeysState, key: Key): KeysStep {
  const text = key.kind === 'character' ? key.text.toLowerCase() : ''
  const left: KeysState = { ...state, mode: { kind: 'keys' } }
  if (text === '5') return { state: left, effects: [{ kind: 'fail_next', failure: 503 }] }
  if (text === 't') return { state: left, effects: [{ kind: 'fail_next', failure: 'hang' }] }
  return key.kind === 'escape' ? { state: left, effects: [] } : { state, effects: [] }
}

function editingFilter(state: KeysState): KeysStep {
  const line = { before: state.filter?.text ?? '', after: '' }
  return inMode(state, { kind: 'filter', line })
}

function stepFilter(
  state: KeysState,
  line: EditedLine,
  { key, kept }: { readonly key: Key; readonly kept: Events },
): KeysStep {
  const left: KeysState = { ...state, mode: { kind: 'keys' } }
  if (key.kind === 'escape') return { state: left, effects: [] }
  if (key.kind !== 'enter') {
    return inMode(state, { kind: 'filter', line: editLine(line, key) })
  }
  const text = (line.before + line.after).trim()
  if (text === '') return tell(withFilter(left, undefined, kept), 'All requests are shown.')
  try {
    const filter = parseMatch(text)
    const { length } = matching(kept, filter)
    const hint = length === 0 ? '' : ` Press up to pick ${length === 1 ? 'it' : 'one'}.`
    return tell(
      withFilter(left, filter, kept),
      `Only requests that match ${filter.text} are shown: ${formatCount(length)} so far.${hint}`,
    )
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    return tell(state, `${error.message}. ${error.hint ?? ''}`)
  }
}

/** Sets the filter. Keys then act only on requests that it shows. */
function withFilter(state: KeysState, filter: Match | undefined, kept: Events): KeysState {
  const [picked] = matching(state.picked === undefined ? [] : [state.picked], filter)
  return { ...state, filter, picked, last: matching(kept, filter).at(-1) }
}

function tell(state: KeysState, text: string): KeysStep {
  return { state, effects: [{ kind: 'tell', text }] }
}

const keysHelp = `Keys
  up, down   pick an earlier request; esc returns to the last one
  1 2 3 ...  pick a request by its number, before enter or a letter below
  enter      show it in full
  r          send it again, to --forward-to or here
  e          edit it in $EDITOR, sign it and send it here
  d          compare it with a different request
  y          print it as a curl command
  s          save it to a file
  p          pause the display; press again to show what arrived
  f          fail the next webhook: 5 with status 503, t by timing out
  /          filter requests; Ctrl-U and enter show all
  o          open the page with every request
  c          clear the screen
  q          quit, like Ctrl-C; a second Ctrl-C quits at once`
