/**
 * A small OpenTelemetry SDK, to load with `node --import`. It appends each span that ends to the file
 * SPANS_FILE. It replaces the `traceparent` header of each request of undici, as newer automatic
 * instrumentation does.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { context, createContextKey, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'

const newId = (bytes) => randomBytes(bytes).toString('hex')

trace.setGlobalTracerProvider({
  getTracer: (tracer) => ({
    startSpan(name, { kind, attributes }, parentContext) {
      const parent = trace.getSpanContext(parentContext)
      const traceId = parent?.traceId ?? newId(16)
      const spanContext = { traceId, spanId: newId(8), traceFlags: 1 }
      const ids = { traceId, spanId: spanContext.spanId, parentId: parent?.spanId }
      const span = { tracer, name, kind, attributes, ...ids }
      return {
        spanContext: () => spanContext,
        setAttribute(key, value) {
          attributes[key] = value
          return this
        },
        setStatus({ code }) {
          span.status = code
          return this
        },
        end: () => appendFileSync(process.env.SPANS_FILE, `${JSON.stringify(span)}\n`),
      }
    },
  }),
})

propagation.setGlobalPropagator({
  inject: () => undefined,
  fields: () => ['traceparent'],
  extract(from, carrier, getter) {
    const [, traceId, spanId] = String(getter.get(carrier, 'traceparent')).split('-')
    if (spanId === undefined) return from
    return trace.setSpanContext(from, { traceId, spanId, traceFlags: 1 })
  },
})

const contexts = new AsyncLocalStorage()
context.setGlobalContextManager({
  active: () => contexts.getStore() ?? ROOT_CONTEXT,
  with: (active, call, self, ...given) => contexts.run(active, () => call.apply(self, given)),
})

const isSuppressed = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')
subscribe('undici:request:create', ({ request }) => {
  const at = request.headers.indexOf('traceparent')
  if (at >= 0) request.headers.splice(at, 2)
  if (context.active().getValue(isSuppressed) !== true) {
    request.addHeader('traceparent', `00-${newId(16)}-${newId(8)}-01`)
  }
})
