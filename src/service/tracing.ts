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
  /** Wraps a listener to record each request until its answer ends. */
  readonly serve: (listener: RequestListener) => RequestListener
  /** Records a completed request to an endpoint. */
  readonly request: (record: RequestRecord) => void
}

/** The provider that the OpenTelemetry API registers; it returns a tracer only if an SDK is loaded. */
interface Delegating {
  readonly getDelegateTracer: (name: string) => Tracer | undefined
}

const silentTracing: Tracing = { serve: (listener) => listener, request: () => undefined }

/** Records spans if an SDK is loaded, for example with `node --import`. */
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
      // An instrumentation of node:http may already have started a span.
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

/** The path without query and write key, which must not appear in spans. */
function publicPath(url: string): string {
  const [path = ''] = url.split('?', 1)
  return path.replace(/(\/(?:projects|analytics\.js\/v1)\/)[^/]+/i, '$1:writeKey')
}
