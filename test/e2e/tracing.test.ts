import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { startBinary, type TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { PostgresDatabases } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const databases = new PostgresDatabases()

const sdk = new URL('opentelemetry-sdk.js', import.meta.url).href
const [traceId, clientSpanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
const traceparent = `00-${traceId}-${clientSpanId}-01`

interface Span {
  readonly spanId: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A service that runs as one process after another, with the same store. */
class TracedService {
  readonly #folder: string
  readonly #document: object

  private constructor(folder: string, document: object) {
    this.#folder = folder
    this.#document = document
  }

  static async in(store: string, endpoint: TestEndpoint): Promise<TracedService> {
    return new TracedService(await temporaryFolder(), {
      listen: { port: 0 },
      store,
      network: { allow: ['127.0.0.0/8'] },
      sources: [{ id: 'website', writeKeys: ['wk_example'] }],
      destinations: [
        { id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url: endpoint.url }] },
      ],
    })
  }

  /** Runs a process until the work is done; returns the spans that it recorded. */
  async run(
    { loads, tracing = null }: { loads?: string; tracing?: boolean | null },
    work: (ask: (target: string, options?: object) => Promise<unknown>) => Promise<unknown>,
  ): Promise<readonly Span[]> {
    const [path, spansFile] = ['evroute.config.json', 'spans.ndjson'].map((name) => {
      return join(this.#folder, name)
    }) as [string, string]
    await writeFile(spansFile, '')
    await writeFile(path, JSON.stringify({ ...this.#document, tracing }))
    const env = {
      SPANS_FILE: spansFile,
      NODE_OPTIONS: loads === undefined ? '' : `--import=${loads}`,
    }
    const process = startBinary(['serve', '--config', path, '--json', '--grace', '10s'], env)
    const url = await urlOf(process)
    await work(async (target, options = {}) => {
      const { statusCode, body } = await request(`${url}${target}`, options)
      await body.dump()
      expect(statusCode).toBe(200)
    })
    process.signal('SIGTERM')
    expect(await process.ended).toMatchObject({ code: 0 })
    const lines = (await readFile(spansFile, 'utf8')).split('\n').filter((line) => line !== '')
    return lines.map((line) => JSON.parse(line) as Span)
  }
}

async function urlOf(process: TestProcess): Promise<string> {
  return String((await process.stdout.record('ready'))['url'])
}

/** A call with the trace context of a client. */
const track = {
  method: 'POST',
  headers: { traceparent },
  body: JSON.stringify({ userId: 'u_1', event: 'Order Completed', messageId: 'm_1' }),
}

/** Starts an endpoint that first asks to retry at once, and then accepts. */
function retryingEndpoint(): Promise<TestEndpoint> {
  return TestEndpoint.start([{ status: 429, headers: { 'retry-after': '0' } }, 200])
}

/** Accepts a call in one process, and retries its webhook in the next one. */
async function spansOfTwo(
  service: TracedService,
  endpoint: TestEndpoint,
  [first, second]: readonly [
    Parameters<TracedService['run']>[0],
    Parameters<TracedService['run']>[0],
  ],
): Promise<readonly [readonly Span[], readonly Span[]]> {
  const before = await service.run(first, async (ask) => {
    await ask('/v1/track?writeKey=wk_example', track)
    await endpoint.received(1)
  })
  const after = await service.run(second, () => endpoint.received(2))
  return [before, after]
}

function sentIn({ requests }: TestEndpoint): readonly unknown[] {
  return requests.map(({ headers }) => headers['traceparent'])
}

const of = (spans: readonly Span[], attribute: string, value: unknown) =>
  spans.filter(({ attributes }) => attributes[attribute] === value)

describe.each(['SQLite', 'PostgreSQL'])('with an SDK and %s', (engine) => {
  test("a client's trace reaches each try of the webhook, whichever process makes it", async () => {
    const endpoint = await retryingEndpoint()
    const store = engine === 'SQLite' ? 'sqlite:./store.db' : await databases.newUrl()
    const service = await TracedService.in(store, endpoint)
    const spans = await spansOfTwo(service, endpoint, [{ loads: sdk }, { loads: sdk }])
    const [accepted] = of(spans[0], 'url.path', '/v1/track')
    expect(accepted).toMatchObject({ traceId, parentId: clientSpanId })
    const tries = spans.map((each) => of(each, 'evroute.destination', 'crm')[0])
    const below = { traceId, parentId: accepted?.spanId, kind: 2 }
    expect(tries).toMatchObject([
      { ...below, attributes: { 'evroute.attempt': 1, 'evroute.lane': 'first' }, status: 2 },
      { ...below, attributes: { 'evroute.attempt': 2, 'evroute.lane': 'retry' } },
    ])
    expect(sentIn(endpoint)).toEqual(tries.map((each) => `00-${traceId}-${each?.spanId}-01`))
  })
})

describe('without an SDK', () => {
  /** Accepts a call with one value of `tracing`, and retries its webhook with the other one. */
  async function sentWith(first: boolean | null, second: boolean | null) {
    const endpoint = await retryingEndpoint()
    const service = await TracedService.in('sqlite:./store.db', endpoint)
    const settings = [{ tracing: first }, { tracing: second }] as const
    expect(await spansOfTwo(service, endpoint, settings)).toEqual([[], []])
    return sentIn(endpoint)
  }

  test("the setting passes on the client's header", async () => {
    expect(await sentWith(true, true)).toEqual([traceparent, traceparent])
  })

  test('no header is kept or sent by default', async () => {
    expect(await sentWith(null, true)).toEqual([undefined, undefined])
  })

  test.each([null, false])('a stored header is not sent after a change to %s', async (off) => {
    expect(await sentWith(true, off)).toEqual([traceparent, undefined])
  })
})

test('an SDK gets a span for each call and each webhook, without keys, paths or queries', async () => {
  const endpoint = await TestEndpoint.start()
  const service = await TracedService.in('memory:', endpoint)
  const spans = await service.run({ loads: sdk }, async (ask) => {
    await ask('/v1/projects/wk_example/settings')
    await ask('/v1/track?writeKey=wk_example', track)
    await endpoint.received(1)
  })
  expect(of(spans, 'url.path', '/v1/track')).toEqual([
    {
      tracer: 'evroute',
      name: 'POST',
      kind: 1,
      attributes: {
        'http.request.method': 'POST',
        'url.path': '/v1/track',
        'http.response.status_code': 200,
      },
      traceId,
      spanId: expect.any(String) as unknown,
      parentId: clientSpanId,
    },
  ])
  expect(of(spans, 'url.path', '/v1/projects/:writeKey/settings')).toHaveLength(1)
  expect(of(spans, 'evroute.destination', 'crm')).toMatchObject([
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
    },
  ])
  expect(JSON.stringify(spans)).not.toContain('wk_example')
})

test('an SDK records nothing if tracing is off', async () => {
  const endpoint = await TestEndpoint.start()
  const service = await TracedService.in('memory:', endpoint)
  const spans = await service.run({ loads: sdk, tracing: false }, async (ask) => {
    await ask('/v1/track?writeKey=wk_example', track)
    await endpoint.received(1)
  })
  expect(spans).toEqual([])
})
