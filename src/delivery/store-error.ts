import { StoreUnusableError, type ErrorDetails } from '../model/index.ts'

/** This process's clock and the store's server's differ too much. Nothing may be sent or deleted until they agree. */
export class ClocksDisagreeError extends StoreUnusableError {
  override readonly name: string = 'ClocksDisagreeError'

  constructor(details: Omit<ErrorDetails, 'code'>) {
    super({ ...details, isTemporary: true })
  }
}

/** Whether an error means that the store is only temporarily unusable. */
export function isTemporary(error: unknown): boolean {
  return error instanceof StoreUnusableError && error.isTemporary
}
