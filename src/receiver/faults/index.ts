/** Answers other than 200: by a plan, at random, or because the path of a webhook asks for one. */
export { certificateOf, tlsKinds, type TlsKind } from './certificates.ts'
export { delayInWords, delayMsMax, parseDelay, type DelayRange } from './delay.ts'
export { faults, faultStatuses, isFault, type Fault, type GivenAnswer } from './fault.ts'
export { injectFault } from './inject-fault.ts'
export {
  Injections,
  type InjectionSettings,
  type NextAnswer,
  type PlannedAnswers,
} from './injections.ts'
export { readPathDirectives, type PathDirectives } from './path-directives.ts'
export type { AnswerPlan, PlanInput, PlannedWebhook, PlansInput, PlanStep } from './plan.ts'
export { readPlans } from './read-plans.ts'
export { seededRandom } from './seeded-random.ts'
export { scenarioNamed, scenarios, type Scenario } from './scenarios.ts'
