import {
  EvrouteError,
  messageOf,
  StoreUnusableError,
  systemCode,
  type ErrorCode,
} from '../../model/index.ts'

/** An error on its way between threads, where classes do not go along. */
export interface ThrownError {
  readonly message: string
  readonly cause?: ThrownError
  /** What callers compare; only where it was thrown on purpose. */
  readonly ours?: {
    readonly code: ErrorCode
    readonly hint: string | undefined
    /** Only where a store cannot be used. */
    readonly isTemporary?: boolean
  }
  /** What the system, or a library, calls it. */
  readonly code?: string
  readonly stack?: string | undefined
}

/** What of an error goes to another thread. */
export function thrownError(error: unknown): ThrownError {
  const message = messageOf(error)
  if (!(error instanceof Error)) return { message }
  const cause = error.cause === undefined ? {} : { cause: thrownError(error.cause) }
  if (error instanceof EvrouteError) {
    const { code, hint } = error
    const standing = error instanceof StoreUnusableError ? { isTemporary: error.isTemporary } : {}
    return { message, ...cause, ours: { code, hint, ...standing } }
  }
  const code = systemCode(error)
  return { message, ...cause, stack: error.stack, ...(code === undefined ? {} : { code }) }
}

/** The error that was thrown, as far as anybody looks at it. */
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
