import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { startBinary } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const api = import.meta.resolve('@opentelemetry/api')

/** A program that registers an SDK, as users load theirs with `node --import`. It writes each span to a file. */
function sdk(spansFile: string): string {
  return `
import { appendFileSync } from 'node:fs'
import { propagation, trace } from ${JSON.stringify(api)}
trace.setGlobalTracerProvider({
  getTracer: (tracer) => ({
    startSpan(name, { kind, attributes, startTime, root }, context) {
      const parent = root ? undefined : trace.getSpanContext(context)?.spanId
      const span = { tracer, name, kind, attributes, parent }
      return {
        setAttribute(key, value) { attributes[key] = value; return this },
        setStatus({ code }) { span.status = code; return this },
        end(time) {
          if (startTime) span.ms = time - startTime
          appendFileSync(${JSON.stringify(spansFile)}, JSON.stringify(span) + '\\n')
        },
      }
    },
  }),
})
propagation.setGlobalPropagator({
  inject: () => {},
  fields: () => ['traceparent'],
  extract(context, carrier, getter) {
    const [, traceId, spanId] = String(getter.get(carrier, 'traceparent')).split('-')
    return spanId === undefined ? context : trace.setSpanContext(context, { traceId, spanId, traceFlags: 1 })
  },
})
`
}

interface Span {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Lets a service deliver a call and answer two other requests; returns the spans of its process. */
async function spansOf(endpoint: TestEndpoint, traced: boolean): Promise<readonly Span[]> {
  const folder = await temporaryFolder()
  const [spansFile, program] = [join(folder, 'spans.ndjson'), join(folder, 'sdk.mjs')]
  await writeFile(spansFile, '')
  await writeFile(program, sdk(spansFile))
  const path = join(folder, 'evroute.config.json')
  const document = {
    listen: { port: 0 },
    store: 'memory:',
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [
      { id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url: endpoint.url }] },
    ],
  }
  await writeFile(path, JSON.stringify(document))
  const env = traced ? { NODE_OPTIONS: `--import=${pathToFileURL(program).href}` } : {}
  const service = startBinary(['serve', '--config', path, '--json', '--grace', '10s'], env)
  const { url } = await service.stdout.record('ready')
  const ask = async (target: string, options: object = {}) =>
    (await request(`${String(url)}${target}`, options)).body.dump()
  await ask('/v1/track?writeKey=wk_example', {
    method: 'POST',
    headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    body: JSON.stringify({ userId: 'u_1', event: 'Order Completed', messageId: 'm_1' }),
  })
  await ask('/v1/projects/wk_example/settings')
  await endpoint.received(1)
  service.signal('SIGTERM')
  expect(await service.ended).toMatchObject({ code: 0 })
  const lines = (await readFile(spansFile, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Span)
}

test('an SDK gets a span for each request of a client and of a webhook, without keys, paths or queries', async () => {
  const endpoint = await TestEndpoint.start()
  const spans = await spansOf(endpoint, true)
  const of = (attribute: string, value: unknown) =>
    spans.filter(({ attributes }) => attributes[attribute] === value)
  expect(of('url.path', '/v1/track')).toEqual([
    {
      tracer: 'evroute',
      name: 'POST',
      kind: 1,
      attributes: {
        'http.request.method': 'POST',
        'url.path': '/v1/track',
        'http.response.status_code': 200,
      },
      parent: 'b7ad6b7169203331',
    },
  ])
  expect(of('url.path', '/v1/projects/:writeKey/settings')).toHaveLength(1)
  expect(of('evroute.destination', 'crm')).toEqual([
    {
      tracer: 'evroute',
      name: 'POST',
      kind: 2,
      attributes: {
        'http.request.method': 'POST',
        'url.full': expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/…#\w+$/) as unknown,
        'evroute.destination': 'crm',
        'evroute.message_id': 'm_1',
        'evroute.attempt': 1,
        'evroute.lane': 'first',
        'http.response.status_code': 200,
      },
      ms: expect.any(Number) as unknown,
    },
  ])
  expect(JSON.stringify(spans)).not.toContain('wk_example')
})

test('without an SDK nothing is recorded', async () => {
  expect(await spansOf(await TestEndpoint.start(), false)).toEqual([])
})
