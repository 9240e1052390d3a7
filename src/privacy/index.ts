/** Deletion requests and whose calls are suppressed. */
export {
  planRegulation,
  regulationLimits,
  type PlannedRegulation,
  type RegulationPlan,
  type RegulationPlanOptions,
  type RegulationRefusal,
  type RegulationRequest,
} from './plan-regulation.ts'
export * from './regulation.ts'
export * from './regulation-record.ts'
export * from './regulations.ts'
export * from './status.ts'
export * from './store-port.ts'
