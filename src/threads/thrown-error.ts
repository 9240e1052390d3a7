import {
  EvrouteError,
  messageOf,
  StoreUnusableError,
  systemCode,
  type ErrorCode,
} from '../model/index.ts'

/** An error in a form that can be sent between threads, which do not share classes. */
export interface ThrownError {
  readonly message: string
  readonly cause?: ThrownError
  /** Only for evroute's own errors: the fields that callers compare. */
  readonly ours?: {
    readonly code: ErrorCode
    readonly hint: string | undefined
    /** Only for a StoreUnusableError. */
    readonly isTemporary?: boolean
  }
  /** The error code from the operating system or a library, such as `ENOENT`. */
  readonly code?: string
  readonly stack?: string | undefined
}

/** Converts an error, to send it to another thread. */
export function thrownError(error: unknown): ThrownError {
  const message = messageOf(error)
  if (!(error instanceof Error)) return { message }
  const cause = error.cause === undefined ? {} : { cause: thrownError(error.cause) }
  if (error instanceof EvrouteError) {
    const { code, hint } = error
    const temporary = error instanceof StoreUnusableError ? { isTemporary: error.isTemporary } : {}
    return { message, ...cause, ours: { code, hint, ...temporary } }
  }
  const code = systemCode(error)
  return { message, ...cause, stack: error.stack, ...(code === undefined ? {} : { code }) }
}

/** Reverses {@link thrownError}. */
export function errorOf({ message, cause, ours, code, stack }: ThrownError): Error {
  const because = cause === undefined ? {} : { cause: errorOf(cause) }
  if (ours === undefined) {
    const error = new Error(message, because)
    return Object.assign(error, { stack }, code === undefined ? {} : { code })
  }
  const { isTemporary, hint } = ours
  const details = { message, ...(hint === undefined ? {} : { hint }), ...because }
  if (isTemporary === undefined) return new EvrouteError({ code: ours.code, ...details })
  return new StoreUnusableError({ ...details, isTemporary })
}
