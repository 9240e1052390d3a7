/** Deletion requests and suppressed users. */
export {
  planRegulation,
  regulationUsersMax,
  type RegulationPlan,
  type RegulationPlanOptions,
  type RegulationRequest,
  type UnknownSource,
} from './plan-regulation.ts'
export * from './archive-erasures.ts'
export type * from './regulation.ts'
export * from './regulation-record.ts'
export * from './regulations.ts'
export * from './regulation-watch.ts'
export * from './status.ts'
export type * from './store-port.ts'
