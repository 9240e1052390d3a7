import { StoreUnusableError, type ErrorDetails } from '../model/index.ts'

/**
 * Thrown by stores whose server's clock and that of this process differ too much for what goes by time:
 * until they agree, nothing may be sent or forgotten.
 */
export class ClocksDisagreeError extends StoreUnusableError {
  override readonly name: string = 'ClocksDisagreeError'

  constructor(details: Omit<ErrorDetails, 'code'>) {
    super({ ...details, isTemporary: true })
  }
}

/** Whether a store said that it cannot be used for now only. */
export function isTemporary(error: unknown): boolean {
  return error instanceof StoreUnusableError && error.isTemporary
}
