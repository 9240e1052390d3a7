import type { Match } from '../../../match/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import type { EditedLine } from '../../terminal/edited-line.ts'

/** How the next key is interpreted. `number` reads the number of a request: to pick it, or to compare with it. */
export type KeysMode =
  | { readonly kind: 'keys' }
  | { readonly kind: 'failure' }
  | { readonly kind: 'filter'; readonly line: EditedLine }
  | { readonly kind: 'number'; readonly digits: string; readonly purpose: 'pick' | 'compare' }
  | { readonly kind: 'ending' }

/** The state of the keys of `listen`. */
export interface KeysState {
  readonly mode: KeysMode
  readonly filter: Match | undefined
  /** Requests since the display was paused; undefined unless it is paused. */
  readonly arrivedInPause: number | undefined
  /** All requests so far. */
  readonly arrived: number
  /** The last request that was shown. */
  readonly last: ReceivedEvent | undefined
  /** The picked request; undefined if keys are about the last one. */
  readonly picked: ReceivedEvent | undefined
}

/** The failure of the next webhook. */
export type NextFailure = 503 | 'hang'

/** An action that a key triggers. */
export type KeyEffect =
  | { readonly kind: 'tell'; readonly text: string }
  | {
      readonly kind: 'show' | 'resend' | 'save' | 'edit' | 'curl'
      readonly event: ReceivedEvent
    }
  | { readonly kind: 'compare'; readonly event: ReceivedEvent; readonly other: ReceivedEvent }
  | { readonly kind: 'fail_next'; readonly failure: NextFailure }
  | { readonly kind: 'clear' | 'interrupt' | 'suspend' | 'open_page' | 'show_held' }

/** The result of a key. */
export interface KeysStep {
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

/** What becomes of a request that arrives. In a pause it is held and shown later. */
export function displayOf(
  { filter, arrivedInPause }: KeysState,
  event: ReceivedEvent,
): 'show' | 'hold' | 'hide' {
  if (filter?.test(event) === false) return 'hide'
  return arrivedInPause === undefined ? 'show' : 'hold'
}

/** The state after a request has arrived. */
export function afterArrival(state: KeysState, event: ReceivedEvent): KeysState {
  const { arrived, arrivedInPause } = state
  return {
    ...state,
    arrived: arrived + 1,
    ...(arrivedInPause === undefined ? {} : { arrivedInPause: arrivedInPause + 1 }),
    ...(displayOf(state, event) === 'show' ? { last: event } : {}),
  }
}
