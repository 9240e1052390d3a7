import type { RequestListener } from 'node:http'
import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { hiddenEndpoint, type RequestRecord } from '../model/index.ts'

/** Records spans with the OpenTelemetry SDK that the process has loaded. */
export interface Tracing {
  /** Records each request from its head to the end of its answer. */
  readonly serve: (listener: RequestListener) => RequestListener
  /** Records a request to an endpoint, which has ended. */
  readonly request: (record: RequestRecord) => void
}

/** What the API registers for any SDK. */
interface Delegating {
  readonly getDelegateTracer: (name: string) => Tracer | undefined
}

/** Records nothing. */
const silentTracing: Tracing = { serve: (listener) => listener, request: () => undefined }

/** Records spans if an SDK was loaded before, with `node --import`. */
export function tracingOfProcess(): Tracing {
  const provider: TracerProvider & Partial<Delegating> = trace.getTracerProvider()
  const tracer = provider.getDelegateTracer?.('evroute')
  return tracer === undefined ? silentTracing : spansOf(tracer)
}

function spansOf(tracer: Tracer): Tracing {
  return {
    serve: (listener) => (request, response) => {
      const { method = '', url = '', headers } = request
      const active = context.active()
      // An instrumentation of node:http has a span already.
      const parent =
        trace.getSpan(active) === undefined ? propagation.extract(active, headers) : active
      const attributes = { 'http.request.method': method, 'url.path': publicPath(url) }
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
      response.once('close', () => {
        const { statusCode, writableFinished } = response
        if (writableFinished) span.setAttribute('http.response.status_code', statusCode)
        if (!writableFinished || statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      })
      listener(request, response)
    },
    request: ({ url, destinationId, messageId, attempt, lane, ...ended }) => {
      const { atMs, durationMs, outcome, status, error } = ended
      const span = tracer.startSpan('POST', {
        kind: SpanKind.CLIENT,
        startTime: new Date(atMs),
        root: true,
        attributes: {
          'http.request.method': 'POST',
          'url.full': hiddenEndpoint(url),
          'evroute.destination': destinationId,
          'evroute.message_id': messageId,
          'evroute.attempt': attempt,
          'evroute.lane': lane,
          ...(status !== null && { 'http.response.status_code': status }),
          ...(error !== null && { 'error.type': error }),
        },
      })
      if (outcome !== 'success') span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(new Date(atMs + durationMs))
    },
  }
}

/** The path without its query and without a write key, which spans are not to hold. */
function publicPath(url: string): string {
  const [path = ''] = url.split('?', 1)
  return path.replace(/(\/(?:projects|analytics\.js\/v1)\/)[^/]+/i, '$1:writeKey')
}
