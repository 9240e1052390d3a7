import { subscribe } from 'node:diagnostics_channel'
import type { RequestListener } from 'node:http'
import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { hiddenEndpoint } from '../model/index.ts'
import type { TraceRequest } from '../pipeline/index.ts'
import { judge, type RequestOutcome } from '../webhook/index.ts'

/** Traces requests of clients and the webhooks that they cause. */
export interface Tracing {
  /** Wraps a listener to record each request until its answer ends. */
  readonly serve: (listener: RequestListener) => RequestListener
  /** Sends webhooks with their trace context; undefined if nothing is traced. */
  readonly send: TraceRequest | undefined
}

/** The provider that the OpenTelemetry API registers. It returns a tracer only if an SDK is loaded. */
interface Delegating {
  readonly getDelegateTracer: (name: string) => Tracer | undefined
}

const asItIs: Tracing['serve'] = (listener) => listener

/** Records spans if an OpenTelemetry SDK is loaded. Without one, only `setting: true` passes trace contexts on. */
export function tracingOfProcess(setting: boolean | null): Tracing {
  if (setting === false) return { serve: asItIs, send: undefined }
  const provider: TracerProvider & Partial<Delegating> = trace.getTracerProvider()
  const tracer = provider.getDelegateTracer?.('evroute')
  if (tracer !== undefined) return { serve: serveWith(tracer), send: sendWith(tracer) }
  return { serve: asItIs, send: setting === true ? passOn : undefined }
}

const passOn: TraceRequest = ({ delivery }, post) => post(delivery.traceparent)

function serveWith(tracer: Tracer): Tracing['serve'] {
  return (listener) => (request, response) => {
    const { method = '', url = '', headers } = request
    const active = context.active()
    // An instrumentation of node:http may already have started a span.
    const parent =
      trace.getSpan(active) === undefined ? propagation.extract(active, headers) : active
    const attributes = { 'http.request.method': method, 'url.path': publicPath(url) }
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
    // Make the webhooks children of this span.
    headers['traceparent'] = traceparentOf(span)
    response.once('close', () => {
      const { statusCode, writableFinished } = response
      if (writableFinished) span.setAttribute('http.response.status_code', statusCode)
      if (!writableFinished || statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    })
    listener(request, response)
  }
}

/** Instrumentations record nothing in this context. The key is that of `suppressTracing` in @opentelemetry/core. */
const suppressed = ROOT_CONTEXT.setValue(
  createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'),
  true,
)

const headerKey = createContextKey('traceparent of a webhook')

/** A request in a message of undici's diagnostics channel. `headers` alternates names and values. */
interface CreatedRequest {
  readonly headers: readonly string[]
  readonly addHeader: (name: string, value: string) => void
}

/** Adds the `traceparent` of a webhook again, because newer instrumentations of undici, which run first, remove it. */
function restoreHeader(message: unknown): void {
  const traceparent = context.active().getValue(headerKey)
  if (typeof traceparent !== 'string') return
  const { request } = message as { readonly request: CreatedRequest }
  if (!request.headers.includes('traceparent')) request.addHeader('traceparent', traceparent)
}

function sendWith(tracer: Tracer): TraceRequest {
  subscribe('undici:request:create', restoreHeader)
  return async ({ delivery, endpoint, destination }, post) => {
    const attributes = {
      'http.request.method': 'POST',
      'url.full': hiddenEndpoint(endpoint.url),
      'evroute.destination': destination.id,
      'evroute.message_id': delivery.messageId,
      'evroute.attempt': delivery.attempts + 1,
      'evroute.lane': delivery.lane,
    }
    const parent = contextOf(delivery.traceparent)
    const span = tracer.startSpan('POST', { kind: SpanKind.CLIENT, attributes }, parent)
    const traceparent = traceparentOf(span)
    const sending = suppressed.setValue(headerKey, traceparent)
    const outcome = await context.with(sending, () => post(traceparent))
    endSpan(span, outcome, destination.retryStatuses)
    return outcome
  }
}

function endSpan(
  span: Span,
  outcome: RequestOutcome,
  retryStatuses: readonly number[] | undefined,
): void {
  const { verdict, status, error } = judge(outcome, retryStatuses)
  if (status !== null) span.setAttribute('http.response.status_code', status)
  if (error !== null) span.setAttribute('error.type', error)
  if (verdict !== 'success') span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

function traceparentOf(span: Span): string | undefined {
  const spanContext = span.spanContext()
  if (!trace.isSpanContextValid(spanContext)) return undefined
  const { traceId, spanId, traceFlags } = spanContext
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

/** Parses a `traceparent` without checks: it was checked on arrival, or made by {@link traceparentOf}. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId = '', spanId = '', flags = ''] = traceparent?.split('-') ?? []
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return traceId === '' ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext)
}

/** The path without query and write key, which must not appear in spans. */
function publicPath(url: string): string {
  const [path = ''] = url.split('?', 1)
  return path.replace(/(\/(?:projects|analytics\.js\/v1)\/)[^/]+/i, '$1:writeKey')
}
