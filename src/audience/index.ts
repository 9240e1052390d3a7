/** Audiences and computed traits: turns lists of members into identify calls for members that changed. */
export * from './audience-records.ts'
export type * from './audience.ts'
export type { SyncContext } from './begun-sync.ts'
export type { MemberColumns } from './member-fields.ts'
export { newComputationId } from './membership-call.ts'
export { previewAudience } from './preview-audience.ts'
export { checkKey, propertyName } from './property-name.ts'
export * from './refusal.ts'
export { previewRemoval, removeAudience, type RemovalOutcome } from './remove-audience.ts'
export type * from './store-port.ts'
export * from './sync-audience.ts'
export {
  noSyncCounts,
  type RejectedRow,
  type SyncCounts,
  type SyncListener,
} from './sync-listener.ts'
