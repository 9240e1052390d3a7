/** Finds out whether a handler of webhooks verifies signatures as it should, by sending it right and wrong ones. */
export { checkCases } from './check-case.ts'
export {
  checkHandler,
  prepareHandlerCheck,
  type HandlerCheckOptions,
  type HandlerReport,
} from './check-handler.ts'
export type { FindingCode, HandlerFinding } from './finding.ts'
export type { CaseVerdict, Reaction } from './verdict.ts'
