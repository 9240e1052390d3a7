/** Faults on demand: what webhooks are given instead of 200, by plan, by chance or by their path. */
export { certificateOf, tlsKinds, type ReceiverCertificate, type TlsKind } from './certificates.ts'
export { delayMsMax, type DelayRange } from './delay.ts'
export { faults, isFault, statusOfFault, type Fault, type GivenAnswer } from './fault.ts'
export { injectFault } from './inject-fault.ts'
export { Injections, type InjectionSettings } from './injections.ts'
export type { PlannedWebhook } from './answer-plans.ts'
export { readPathDirectives, type PathDirectives } from './path-directives.ts'
export type { AnswerPlan, PlanInput, PlansInput, PlanStep } from './plan.ts'
export { readPlans } from './read-plans.ts'
export { seededRandom } from './seeded-random.ts'
export {
  scenarioNamed,
  scenarios,
  type Scenario,
  type ScenarioExpectation,
  type ScenarioName,
  type ScenarioSettings,
} from './scenarios.ts'
export { SecureConnections } from './secure-connections.ts'
