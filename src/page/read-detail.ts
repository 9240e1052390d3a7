import type { EventRecord } from '../receiver/index.ts'
import { readEvent } from './api.ts'
import { messageOf } from './use-read.ts'

/** State of the view of the selected request. */
export type Detail =
  | { readonly kind: 'none' | 'loading' | 'gone' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'shown'; readonly record: EventRecord }

/** Reads a request for the view of it. */
export async function readDetail(seq: number): Promise<Detail> {
  try {
    const record = await readEvent(seq)
    return record === undefined ? { kind: 'gone' } : { kind: 'shown', record }
  } catch (error) {
    return { kind: 'failed', message: messageOf(error) }
  }
}
