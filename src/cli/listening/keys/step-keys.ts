import { parseMatch, type Match } from '../../../match/index.ts'
import { columnsOf, cutToColumns, SettingError, shortText } from '../../../model/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import { countOf, formatCount } from '../../output/numbers.ts'
import type { Style } from '../../output/style.ts'
import { cutFromStart, editLine, type Key } from '../../terminal/key.ts'

type KeysMode =
  | { readonly kind: 'keys' }
  | { readonly kind: 'failure' }
  | { readonly kind: 'filter'; readonly line: string }
  | { readonly kind: 'number'; readonly digits: string; readonly purpose: 'pick' | 'compare' }
  | { readonly kind: 'ending' }

/** The state that the keys of `listen` depend on and change. */
export interface KeysState {
  readonly mode: KeysMode
  readonly filter: Match | undefined
  /** The number of requests since the display was paused; undefined if it is not paused. */
  readonly arrivedInPause: number | undefined
  readonly arrived: number
  /** The last request that was shown. A new filter replaces it with the newest kept request that matches. */
  readonly last: ReceivedEvent | undefined
  /** The request that the user picked. If undefined, keys act on the `last` request. */
  readonly picked: ReceivedEvent | undefined
}

/** How the next webhook fails: with a status, or by a timeout. */
export type NextFailure = 503 | 'hang'

type Effect<Kind extends string, Fields = object> = Kind extends unknown
  ? { readonly kind: Kind } & Readonly<Fields>
  : never

type EventEffect = Effect<'show' | 'resend' | 'save' | 'edit' | 'curl', { event: ReceivedEvent }>

/** An action that {@link stepKeys} returns and `ListenKeys` carries out. */
export type KeyEffect =
  | Effect<'tell', { text: string }>
  | EventEffect
  | Effect<'compare', { event: ReceivedEvent; other: ReceivedEvent }>
  | Effect<'fail_next', { failure: NextFailure }>
  | Effect<'clear' | 'interrupt' | 'suspend' | 'open_page' | 'show_held'>

type Events = readonly ReceivedEvent[]

interface Change extends Partial<KeysState> {
  readonly effects?: readonly KeyEffect[]
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

/** Counts a new request. If it is shown, it becomes the `last`. */
export function afterArrival(state: KeysState, event: ReceivedEvent): KeysState {
  const { arrived, arrivedInPause } = state
  return {
    ...state,
    arrived: arrived + 1,
    ...(arrivedInPause === undefined ? {} : { arrivedInPause: arrivedInPause + 1 }),
    ...(displayOf(state, event) === 'show' ? { last: event } : {}),
  }
}

/** If this many characters arrive at once, they count as a paste that was meant for another window. */
const pastedMin = 8

/** Handles keys that arrived together. `events` are the kept requests, oldest first. A pure function. */
export function stepKeys(
  state: KeysState,
  keys: readonly Key[],
  events: Events,
): { readonly state: KeysState; readonly effects: readonly KeyEffect[] } {
  if (state.mode.kind !== 'filter' && isPasted(keys)) {
    const text = 'Ignored a paste. To filter by pasted text, press / first.'
    return { state, effects: [{ kind: 'tell', text }] }
  }
  const all: KeyEffect[] = []
  let next = state
  for (const key of keys) {
    const { effects = [], ...change } = stepKey(next, key, events)
    next = { ...next, ...change }
    all.push(...effects)
  }
  return { state: next, effects: all }
}

function isPasted(keys: readonly Key[]): boolean {
  const [first] = keys
  // After `/`, pasted text goes into the filter.
  if (first?.kind === 'character' && first.text === '/') return false
  const isInterrupted = keys.some(({ kind }) => kind === 'interrupt')
  return !isInterrupted && keys.filter(({ kind }) => kind === 'character').length >= pastedMin
}

function stepKey(state: KeysState, key: Key, kept: Events): Change {
  if (key.kind === 'interrupt') return interruption
  if (key.kind === 'suspend') return does('suspend')
  const events = matching(kept, state.filter)
  switch (state.mode.kind) {
    case 'keys':
      return stepPlainKey(state, key, events)
    case 'failure':
      return stepFailure(key)
    case 'filter':
      return stepFilter(state, state.mode.line, { key, kept })
    case 'number':
      return stepNumber(state, state.mode, { key, events })
    case 'ending':
      return {}
  }
}

function matching(events: Events, filter: Match | undefined): Events {
  return filter === undefined ? events : events.filter((event) => filter.test(event))
}

const plainMode: KeysMode = { kind: 'keys' }
const interruption: Change = { mode: { kind: 'ending' }, effects: [{ kind: 'interrupt' }] }

const handlers = new Map<string, (state: KeysState, events: Events) => Change>([
  ['enter', (state) => withCurrent(state, 'show')],
  ['up', (state, events) => picking(state, events, -1)],
  ['down', (state, events) => picking(state, events, 1)],
  ['escape', () => ({ picked: undefined })],
  ['h', () => tell(keysHelp)],
  ['?', () => tell(keysHelp)],
  ['r', (state) => withCurrent(state, 'resend')],
  ['e', (state) => withCurrent(state, 'edit')],
  ['y', (state) => withCurrent(state, 'curl')],
  ['d', comparing],
  ['k', (state, events) => picking(state, events, -1)],
  ['j', (state, events) => picking(state, events, 1)],
  ['p', paused],
  ['f', () => ({ mode: { kind: 'failure' } })],
  ['/', ({ filter }) => ({ mode: { kind: 'filter', line: filter?.text ?? '' } })],
  ['s', (state) => withCurrent(state, 'save')],
  ['c', () => does('clear')],
  ['o', () => does('open_page')],
  ['q', () => interruption],
])

function stepPlainKey(state: KeysState, key: Key, events: Events): Change {
  const name = key.kind === 'character' ? key.text.toLowerCase() : key.kind
  if (digit.test(name)) return { mode: { kind: 'number', digits: name, purpose: 'pick' } }
  return handlers.get(name)?.(state, events) ?? {}
}

const digit = /^[0-9]$/

/** Picks the request before or after the picked one. After the newest request, picks none. */
function picking({ picked }: KeysState, events: Events, by: -1 | 1): Change {
  const at = picked === undefined ? events.length : events.findIndex(({ seq }) => seq >= picked.seq)
  return { picked: events[Math.max((at === -1 ? events.length : at) + by, 0)] }
}

function comparing(state: KeysState): Change {
  if ((state.picked ?? state.last) === undefined) return withCurrent(state, 'show')
  return { mode: { kind: 'number', digits: '', purpose: 'compare' } }
}

function stepNumber(
  state: KeysState,
  mode: Extract<KeysMode, { kind: 'number' }>,
  { key, events }: { readonly key: Key; readonly events: Events },
): Change {
  const { digits } = mode
  if (key.kind === 'character' && digit.test(key.text)) {
    return { mode: { ...mode, digits: (digits + key.text).slice(0, 15) } }
  }
  if (key.kind === 'backspace') return { mode: { ...mode, digits: digits.slice(0, -1) } }
  if (key.kind === 'escape') return { mode: plainMode }
  if (mode.purpose === 'compare') {
    return key.kind === 'enter'
      ? { mode: plainMode, ...compareNumbered(state, digits, events) }
      : {}
  }
  const picked = events.find(({ seq }) => seq === Number(digits))
  if (picked === undefined) return { mode: plainMode, ...notKept(digits) }
  return { mode: plainMode, picked, ...stepPlainKey({ ...state, picked }, key, events) }
}

/** Without a number, compares with the previous request of the same type. */
function compareNumbered({ picked, last }: KeysState, digits: string, events: Events): Change {
  const event = picked ?? last
  if (event === undefined) return {}
  const other =
    digits === ''
      ? events.findLast(({ seq, type }) => type === event.type && seq < event.seq)
      : events.find(({ seq }) => seq === Number(digits))
  if (other !== undefined) return { effects: [{ kind: 'compare', event, other }] }
  if (digits !== '') return notKept(digits)
  const hint = 'To compare with a different request, enter its number.'
  return tell(`There is no earlier request of this type. ${hint}`)
}

function notKept(digits: string): Change {
  return tell(`Request #${digits} does not exist, is no longer kept, or is hidden by the filter.`)
}

function withCurrent({ picked, last }: KeysState, kind: EventEffect['kind']): Change {
  const event = picked ?? last
  return event === undefined
    ? tell('No request has been shown yet.')
    : { effects: [{ kind, event }] }
}

function paused({ arrivedInPause: arrived }: KeysState): Change {
  if (arrived === undefined) {
    const text = 'Paused: requests are still answered and saved. Press p again to show them.'
    return { arrivedInPause: 0, ...tell(text) }
  }
  const text = `Resumed: ${countOf(arrived, 'request')} arrived.`
  return { arrivedInPause: undefined, effects: [{ kind: 'tell', text }, { kind: 'show_held' }] }
}

function stepFailure(key: Key): Change {
  const text = key.kind === 'character' ? key.text.toLowerCase() : ''
  if (text === '5') return { mode: plainMode, effects: [{ kind: 'fail_next', failure: 503 }] }
  if (text === 't') return { mode: plainMode, effects: [{ kind: 'fail_next', failure: 'hang' }] }
  return key.kind === 'escape' ? { mode: plainMode } : {}
}

function stepFilter(
  state: KeysState,
  line: string,
  { key, kept }: { readonly key: Key; readonly kept: Events },
): Change {
  if (key.kind === 'escape') return { mode: plainMode }
  if (key.kind !== 'enter') return { mode: { kind: 'filter', line: editLine(line, key) } }
  const text = line.trim()
  if (text === '')
    return { ...filtered(state, undefined, kept), ...tell('All requests are shown.') }
  try {
    const filter = parseMatch(text)
    const { length } = matching(kept, filter)
    const hint = length === 0 ? '' : ` Press the up arrow to pick ${length === 1 ? 'it' : 'one'}.`
    return {
      ...filtered(state, filter, kept),
      ...tell(
        `Only requests that match ${filter.text} are shown: ${formatCount(length)} so far.${hint}`,
      ),
    }
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    return tell(`${error.message}. ${error.hint ?? ''}`)
  }
}

function filtered({ picked }: KeysState, filter: Match | undefined, kept: Events): Change {
  const [stillPicked] = matching(picked === undefined ? [] : [picked], filter)
  return { mode: plainMode, filter, picked: stillPicked, last: matching(kept, filter).at(-1) }
}

function tell(text: string): Change {
  return { effects: [{ kind: 'tell', text }] }
}

function does(kind: 'clear' | 'open_page' | 'suspend'): Change {
  return { effects: [{ kind }] }
}

const editorPrompt = '/ '

/** Formats the line of keys, at most `columnsMax` wide, most important part first. */
export function keysLine(state: KeysState, columnsMax: number, style: Style): string {
  const { mode } = state
  switch (mode.kind) {
    case 'filter': {
      const columns = columnsMax - columnsOf(editorPrompt)
      return style.strong(editorPrompt) + cutFromStart(mode.line, columns)
    }
    case 'failure':
      return plain('Press 5 for 503, t for timeout, or esc')
    case 'number': {
      const { purpose, digits } = mode
      const prompt = purpose === 'pick' ? '#' : `Compare with #`
      const rest = purpose === 'compare' && digits === '' ? ' (enter: the previous one)' : ''
      return plain(`${prompt}${digits}${rest}`)
    }
    case 'ending':
      return plain('Ending. Press Ctrl-C to quit at once')
    case 'keys':
      return plain(joinedWords(wordsOf(state), columnsMax))
  }

  function plain(text: string): string {
    return style.faint(cutToColumns(text, columnsMax))
  }
}

/** Joins as many words as fit, without a part of a word. Shortens the first word if the second one does not fit. */
function joinedWords(
  [first = '', second = '', ...rest]: readonly string[],
  columnsMax: number,
): string {
  const firstMax = Math.max(columnsMax - columnsOf(separator + second), 1)
  let line = cutToColumns(first, firstMax) + separator + second
  for (const word of rest) {
    const longer = line + separator + word
    if (columnsOf(longer) > columnsMax) break
    line = longer
  }
  return line
}

const separator = ' · '

function wordsOf({ arrived, arrivedInPause, filter, picked }: KeysState): readonly string[] {
  const paused = arrivedInPause === undefined ? [] : [`paused, ${formatCount(arrivedInPause)} new`]
  const filtered = filter === undefined ? [] : [`/ ${filter.text}`]
  if (picked !== undefined) {
    const { seq, type, userId, body } = picked
    const name = body?.['event'] ?? body?.['name']
    const parts = [`▸ #${seq}`, type ?? 'malformed', userId, name]
    const label = parts
      .filter((part) => typeof part === 'string')
      .map((part) => shortText(part, 24))
    const keys = ['h help', 'enter show', 'r resend', 'e edit', 'd compare', 'y curl', 'esc latest']
    return [[...paused, label.join(' ')].join(separator), ...keys]
  }
  const notes = [...paused, ...filtered].join(separator)
  const keys = ['h help', 'q quit', `${formatCount(arrived)} received`, 'f fail next']
  return notes === '' ? keys : [notes, ...keys]
}

const keysHelp = `Keys
  up, down   pick an earlier request; esc picks the last
  1 2 3 ...  pick by number, then enter or a letter below
  enter      show it in full
  r          send it again, to --forward-to or here
  e          edit it in $EDITOR, sign it and send it here
  d          compare it with a different request
  y          print it as a curl command
  s          save it to a file
  p          pause; press again to show what arrived
  f          fail the next one: 5 answers 503, t times out
  /          filter requests; Ctrl-U and enter show all
  o          open the page with every request
  c          clear the screen
  q          quit, like Ctrl-C; Ctrl-C again quits at once`
