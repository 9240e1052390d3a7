/** Regulations in a database, whichever engine it is: what they are about, and how far they have come. */
export { noteCleaned, withTraces } from './erasure-steps.ts'
export {
  erasableColumns,
  type AskedNotifications,
  type CountedNotifications,
  type DeliveryPlace,
  type ErasableRow,
  type ErasureEngine,
  type HeldRow,
  type IdRange,
  type RegulationEngine,
  type RegulationIds,
} from './regulation-engine.ts'
export { RegulationRows } from './regulation-rows.ts'
export { SharedArchives } from './shared-archives.ts'
export { StoredRegulations } from './stored-regulations.ts'
