/** Requests to endpoints: body, signature, request and verdict. */
export * from './body.ts'
export type { ConnectionKind } from './connections.ts'
export * from './destination-settings.ts'
export * from './outcome.ts'
export * from './sender.ts'
export * from './signature.ts'
export * from './standard-webhooks.ts'
