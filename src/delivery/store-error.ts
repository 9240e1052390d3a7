import { StoreUnusableError, type ErrorDetails } from '../model/index.ts'

/** The clocks of this process and the store's server disagree. Until they agree, nothing may be sent or deleted. */
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
