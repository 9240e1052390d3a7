import { EvrouteError } from '../model/index.ts'

/** The error for a URL of a store that does not exist yet; its code is `store_unusable`. */
export class MissingStoreError extends EvrouteError {
  constructor(details: { readonly message: string; readonly hint: string }) {
    super({ code: 'store_unusable', ...details })
  }
}

/** Makes the error that every method throws after `close()`. */
export function closedError(): EvrouteError {
  return new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
}

/** Why the URL of a store is refused, and how to correct it. Neither contains a password. */
export interface UrlRefusal {
  /** The reason, as the last part of a message: `it must name a file`. */
  readonly why: string
  readonly hint: string
}

/** Makes a `store_unusable` error. */
export function unusable(message: string, hint: string): EvrouteError {
  return new EvrouteError({ code: 'store_unusable', message, hint })
}
