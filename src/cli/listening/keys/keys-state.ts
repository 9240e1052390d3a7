import type { Match } from '../../../match/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import type { EditedLine } from '../../terminal/edited-line.ts'

/** What the next key means. */
export type KeysMode =
  | { readonly kind: 'keys' }
  | { readonly kind: 'failure' }
  | { readonly kind: 'filter'; readonly line: EditedLine }
  | { readonly kind: 'ending' }

/** What the keys of `listen` have led to. */
export interface KeysState {
  readonly mode: KeysMode
  /** What is shown of the requests that arrive; undefined for all. */
  readonly filter: Match | undefined
  /** How many arrived since the display was paused; undefined while it is not. */
  readonly arrivedInPause: number | undefined
  /** How many arrived in all. */
  readonly arrived: number
  /** The last one that was shown. */
  readonly last: ReceivedEvent | undefined
}

/** How a webhook is made to fail. */
export type NextFailure = 503 | 'hang'

/** What is to be done after a key. */
export type KeyEffect =
  | { readonly kind: 'tell'; readonly text: string }
  | { readonly kind: 'show' | 'resend' | 'save'; readonly event: ReceivedEvent }
  | { readonly kind: 'fail_next'; readonly failure: NextFailure }
  | { readonly kind: 'clear' | 'interrupt' | 'suspend' | 'open_page' }

/** What a key leads to. */
export interface KeysStep {
  readonly state: KeysState
  readonly effects: readonly KeyEffect[]
}

/** Before the first key. */
export function initialKeysState(filter: Match | undefined): KeysState {
  return {
    mode: { kind: 'keys' },
    filter,
    arrivedInPause: undefined,
    arrived: 0,
    last: undefined,
  }
}

/** Whether a request that arrives is shown. */
export function isShown({ filter, arrivedInPause }: KeysState, event: ReceivedEvent): boolean {
  return arrivedInPause === undefined && filter?.test(event) !== false
}

/** The state once a request has arrived. */
export function afterArrival(state: KeysState, event: ReceivedEvent): KeysState {
  const { arrived, arrivedInPause } = state
  return {
    ...state,
    arrived: arrived + 1,
    ...(arrivedInPause === undefined ? {} : { arrivedInPause: arrivedInPause + 1 }),
    ...(isShown(state, event) ? { last: event } : {}),
  }
}
