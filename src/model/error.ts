/**
 * The stable codes of all errors that evroute throws.
 *
 * - `invalid_setting`: an option, flag or setting has an unacceptable value
 * - `invalid_usage`: the command line cannot be understood
 * - `port_in_use`, `cannot_listen`: the port to listen on cannot be opened
 * - `cannot_read_file`, `cannot_write_file`: a file named by the caller cannot be used
 * - `cannot_reach`: nothing answers at the address of a receiver
 * - `store_closed`: a store was used after `close()`
 * - `store_in_use`: another process is already delivering from the store
 * - `store_unusable`: the store's file is foreign, newer than this version, or cannot be used
 * - `sync_running`: a sync of the same audience is already running
 * - `expectation_unmet`: an expected request did not arrive in time
 */
export type ErrorCode =
  | 'invalid_setting'
  | 'invalid_usage'
  | 'port_in_use'
  | 'cannot_listen'
  | 'cannot_read_file'
  | 'cannot_write_file'
  | 'cannot_reach'
  | 'store_closed'
  | 'store_in_use'
  | 'store_unusable'
  | 'sync_running'
  | 'expectation_unmet'

/** The code, message, hint and cause of an {@link EvrouteError}. */
export interface ErrorDetails {
  /** The stable name that programs compare. */
  readonly code: ErrorCode
  /** What failed and why, as a sentence without its final period. */
  readonly message: string
  /** What to do about it, as a sentence. */
  readonly hint?: string
  readonly cause?: unknown
}

/** The base of every error that evroute throws on purpose. */
export class EvrouteError extends Error {
  override readonly name: string = 'EvrouteError'
  /** The stable name that programs compare. */
  readonly code: ErrorCode
  /** What to do about it; undefined if the message already says it. */
  readonly hint: string | undefined

  constructor(details: ErrorDetails) {
    super(details.message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = details.code
    this.hint = details.hint
  }
}

/** Thrown for an unacceptable setting: `code` is always `invalid_setting`. */
export class SettingError extends EvrouteError {
  override readonly name: string = 'SettingError'
  /** The setting's name as the caller wrote it, such as `flushAt` or `endpoints[1].url`. */
  readonly setting: string

  constructor(setting: string, message: string, hint?: string) {
    super({ code: 'invalid_setting', message, ...(hint === undefined ? {} : { hint }) })
    this.setting = setting
  }
}

/** Thrown by stores that cannot be used: `code` is always `store_unusable`. */
export class StoreUnusableError extends EvrouteError {
  override readonly name: string = 'StoreUnusableError'
  /** Whether the caller may try again. Some faults, such as a full disk, can clear without a restart. */
  readonly isTemporary: boolean

  constructor({
    isTemporary = false,
    ...details
  }: Omit<ErrorDetails, 'code'> & { readonly isTemporary?: boolean }) {
    super({ code: 'store_unusable', ...details })
    this.isTemporary = isTemporary
  }
}

/** Thrown for a forbidden address, before any connection to it. */
export class AddressRefusedError extends Error {
  override readonly name: string = 'AddressRefusedError'
  /** The kind of address, such as `private_address`. */
  readonly code: string

  constructor({ code, message }: { readonly code: string; readonly message: string }) {
    super(message)
    this.code = code
  }
}

/** Returns the `code` that the operating system or a library set on an error, such as `ECONNREFUSED`. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** Returns the message of a thrown value, which need not be an Error. Never throws. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    // An object without a prototype, for example, has no text.
    return 'unknown error'
  }
}
