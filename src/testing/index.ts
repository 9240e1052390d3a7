/**
 * For tests of other programs, under vitest, jest and node:test: a receiver that tells what arrived, and a
 * whole service in front of it.
 *
 * @packageDocumentation
 */
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
