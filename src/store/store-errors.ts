import { EvrouteError } from '../model/index.ts'

/** A URL names a store that does not exist yet: `code` is `store_unusable`. */
export class MissingStoreError extends EvrouteError {
  constructor(details: { readonly message: string; readonly hint: string }) {
    super({ code: 'store_unusable', ...details })
  }
}

/** A row that the engine can read but that evroute cannot have written. */
export class DamagedRowError extends Error {}

/** The error of every method after `close()`. */
export function closedError(): EvrouteError {
  return new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
}
