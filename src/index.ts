/**
 * evroute as a library: record calls, receive webhooks, verify signatures.
 *
 * @packageDocumentation
 */
export {
  Client,
  createInProcessTransport,
  type AcceptBatch,
  type BatchRetry,
  type CallResult,
  type ClientEventMap,
  type ClientEventName,
  type ClientListener,
  type ClientOptions,
  type CloseOptions,
  type CloseReport,
  type DeliveredCall,
  type EncodedBatch,
  type EnqueueResult,
  type FailedCall,
  type InProcessBatch,
  type RejectedCall,
  type Transport,
  type TransportOutcome,
} from './client/index.ts'
export {
  EvrouteError,
  SettingError,
  type AliasBody,
  type AliasCall,
  type CallFields,
  type CallType,
  type DeleteBody,
  type ErrorCode,
  type EventType,
  type GroupBody,
  type GroupCall,
  type IdentifyBody,
  type IdentifyCall,
  type Integrations,
  type JsonObject,
  type JsonValue,
  type PageBody,
  type PageCall,
  type Properties,
  type RejectionCode,
  type ScreenCall,
  type TrackBody,
  type TrackCall,
  type WebhookBody,
} from './model/index.ts'
export {
  Receiver,
  type MalformedContent,
  type ReceivedCounts,
  type ReceivedEvent,
  type ReceivedRequest,
  type ReceiverAddress,
  type ReceiverOptions,
  type SignatureVerdict,
  type WaitOptions,
  type WebhookContent,
} from './receiver/index.ts'
export {
  createRuntime,
  ManualClock,
  type Clock,
  type Log,
  type Observer,
  type Runtime,
} from './runtime/index.ts'
export { signBody, verifySignature } from './webhook/index.ts'
