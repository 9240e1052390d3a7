/**
 * Helpers for testing your program with vitest, jest or node:test: a receiver that records webhooks, a whole service
 * that sends to a receiver, and a check of webhook handlers.
 *
 * @packageDocumentation
 */
export {
  checkHandler,
  type CaseVerdict,
  type FindingCode,
  type HandlerCheckOptions,
  type HandlerFinding,
  type HandlerReport,
  type Reaction,
} from '../handler-check/index.ts'
export type { CountRange, ExpectedBody, ExpectedValue } from '../match/index.ts'
export {
  ExpectationError,
  type AnswerPlan,
  type ExpectOptions,
  type PlansInput,
  type ReceivedEvent,
  type ReceiverOptions,
} from '../receiver/index.ts'
export { startReceiver, type TestReceiver } from './receiver.ts'
export { startService, type TestService, type TestServiceOptions } from './service.ts'
