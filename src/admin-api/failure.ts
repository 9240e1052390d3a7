import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { Refusal } from './answer.ts'

/** Logs an unexpected error, and refuses the request without details. */
export function refusalOfFailure(error: unknown, log: Log): Refusal {
  log.warn('a request to the admin API failed', {
    error: messageOf(error),
    code: systemCode(error),
  })
  return isStoreError(error)
    ? { status: 503, code: 'store_unavailable', message: 'The store cannot be used at the moment' }
    : { status: 500, code: 'internal_error', message: 'The service failed to answer' }
}

/** Whether an error comes from the store. */
export function isStoreError(error: unknown): boolean {
  return (
    error instanceof EvrouteError &&
    (error.code === 'store_closed' || error.code === 'store_unusable')
  )
}
