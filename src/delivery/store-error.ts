import { EvrouteError, type ErrorDetails } from '../model/index.ts'

/** Thrown by stores that cannot be used: `code` is always `store_unusable`. */
export class StoreUnusableError extends EvrouteError {
  override readonly name: string = 'StoreUnusableError'
  /**
   * Whether it may pass without anybody doing anything in this process, as want of room on a disk
   * does; whoever can wait tries again.
   */
  readonly isTemporary: boolean

  constructor({
    isTemporary = false,
    ...details
  }: Omit<ErrorDetails, 'code'> & { readonly isTemporary?: boolean }) {
    super({ code: 'store_unusable', ...details })
    this.isTemporary = isTemporary
  }
}

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
