import { EvrouteError } from '../model/index.ts'

/** A URL names a store that does not exist yet: `code` is `store_unusable`. */
export class MissingStoreError extends EvrouteError {
  constructor(details: { readonly message: string; readonly hint: string }) {
    super({ code: 'store_unusable', ...details })
  }
}
