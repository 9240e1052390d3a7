/** Checks that a webhook handler verifies signatures, by sending valid and invalid ones. */
export { checkCases } from './check-case.ts'
export {
  checkHandler,
  prepareHandlerCheck,
  type HandlerCheckOptions,
  type HandlerReport,
} from './check-handler.ts'
export type { FindingCode, HandlerFinding } from './evidence.ts'
export type { CaseVerdict, Reaction } from './verdict.ts'
