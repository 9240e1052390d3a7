/** The local receiver: verifies, records and answers webhooks, and summarises each in a line. */
export {
  diagnose,
  isSnippetLanguage,
  snippetLanguages,
  snippets,
  type Diagnosis,
  type MistakeCode,
  type NamedSecret,
  type SnippetLanguage,
  type SuspectRequest,
} from './diagnosis/index.ts'
export { openCaptureViewer } from './capture-viewer.ts'
export type { ReceiverAddress } from './endpoints.ts'
export type { EventListener } from './event-log.ts'
export { eventRecord, readEventRecord, type EventRecord } from './event-record.ts'
export {
  ExpectationError,
  type ExpectOptions,
  type JudgedExpectation,
  type ShownExpectation,
} from './expectations.ts'
export {
  faults,
  scenarioNamed,
  scenarios,
  type AnswerPlan,
  type DelayRange,
  type Fault,
  type GivenAnswer,
  type PlannedAnswers,
  type PlanInput,
  type PlansInput,
  type PlanStep,
  type Scenario,
  type TlsKind,
} from './faults/index.ts'
export { checkForwardTargets, type Forwarding, type ForwardTarget } from './forward.ts'
export type { ActionOutcomes } from './inspector/actions.ts'
export type { EventSummary } from './inspector/event-summary.ts'
export { compareEvents, type PayloadChanges } from './inspector/payload-changes.ts'
export type { ReadAnswers } from './inspector/reads.ts'
export { repeated, sendRequest } from './inspector/send-request.ts'
export type { MalformedCode } from './read-webhook.ts'
export type {
  MalformedContent,
  ReceivedCounts,
  ReceivedEvent,
  ReceivedRequest,
  RefusalCode,
  WebhookContent,
  WithheldReason,
} from './received-event.ts'
export { readCapture } from './read-capture.ts'
export { Receiver, type WaitOptions } from './receiver.ts'
export { receiverOptionsIn, type ReceiverOptions } from './settings.ts'
export { SummaryMemory } from './summary/memory.ts'
export { summaryText, type SummaryPart, type SummaryRole } from './summary/part.ts'
export { summarise, type Summarisable } from './summary/summarise.ts'
