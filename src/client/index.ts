/** The batching client: records calls, sends them in batches, and accounts for every one. */
export * from './client.ts'
export type { ClientOptions } from './options.ts'
export type { ClientEventMap, ClientEventName, ClientListener } from './events.ts'
export type * from './result.ts'
export type * from './transport.ts'
export * from './http-transport.ts'
export * from './in-process-transport.ts'
