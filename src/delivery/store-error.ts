import { StoreUnusableError, type ErrorDetails } from '../model/index.ts'

/**
 * The clocks of this process and of the store's server differ too much. Nothing may be sent or deleted until they
 * agree again.
 */
export class ClocksDisagreeError extends StoreUnusableError {
  override readonly name: string = 'ClocksDisagreeError'

  constructor(details: Omit<ErrorDetails, 'code'>) {
    super({ ...details, isTemporary: true })
  }
}

/** Whether an error says that the store is unusable only temporarily. */
export function isTemporary(error: unknown): boolean {
  return error instanceof StoreUnusableError && error.isTemporary
}
