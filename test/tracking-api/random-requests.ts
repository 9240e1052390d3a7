import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { basic, disabledWriteKey, writeKey, type Sent } from './support.ts'

/** A batch that uses every known field, for the tests to corrupt. */
const goodBatch = {
  batch: [
    {
      type: 'track',
      messageId: 'm-1',
      userId: 'user-1',
      anonymousId: 'anonymous-1',
      event: 'Order Completed',
      properties: { total: 9.5, items: [{ sku: 'a' }] },
      context: { ip: '203.0.113.7', direct: true, integrations: { All: true } },
      integrations: { All: true, Webhooks: { on: true } },
      timestamp: '2026-01-02T03:04:05Z',
      originalTimestamp: '2026-01-02T03:04:05Z',
      sentAt: '2026-01-02T03:04:06Z',
    },
    { type: 'group', userId: 'user-1', groupId: 'group-1', traits: { name: 'Example Inc' } },
    { type: 'alias', userId: 'user-1', previousId: 'anonymous-1' },
    { type: 'page', anonymousId: 'anonymous-1', name: 'Home', category: 'Start' },
  ],
  context: { library: { name: 'example' }, integrations: {} },
  integrations: { All: true },
  sentAt: '2026-01-02T03:04:06Z',
  writeKey,
}

const nested = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + close.repeat(levels)

/** Unusual JSON as text; no serialiser would write some of it. */
const oddValues: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-1.5',
  '1e308',
  '1e400',
  '-1e400',
  '9007199254740993',
  '123456789012345678901234567890',
  '""',
  '"text"',
  '"\\ud800"',
  '"\\u0000\\u2028"',
  '"2015-2-30T99:00:00Z"',
  `"${'x'.repeat(33_000)}"`,
  '[]',
  '[[],{},null]',
  '{}',
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":1,"hasOwnProperty":null,"toJSON":"x","then":"y","length":-1}',
  nested(400, '[', ']'),
  nested(600, '[', ']'),
  nested(20_000, '[', ']'),
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
]

type Path = readonly (string | number)[]

function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [path, ...below.flatMap(([name, member]) => pathsOf(member, [...path, name]))]
}

function replaced(value: unknown, [name, ...rest]: Path, replacement: unknown): unknown {
  if (name === undefined) return replacement
  const copy: Record<string, unknown> = Array.isArray(value)
    ? (value.slice() as never)
    : { ...(value as object) }
  copy[name] = replaced(copy[name], rest, replacement)
  return copy
}

const marker = 'odd value'

/** The valid batch with odd JSON in one position. */
function spoilt(path: Path, odd: string): string {
  return JSON.stringify(replaced(goodBatch, path, marker)).replace(`"${marker}"`, () => odd)
}

/** The valid batch with each odd value at each of its positions. */
export const spoiltBatches: readonly string[] = pathsOf(goodBatch).flatMap((path) =>
  oddValues.map((odd) => spoilt(path, odd)),
)

const spoiltBatch = fc
  .tuple(fc.constantFrom(...pathsOf(goodBatch)), fc.constantFrom(...oddValues))
  .map(([path, odd]) => spoilt(path, odd))

const json = fc.oneof(
  spoiltBatch,
  fc.json({ maxDepth: 6 }),
  fc.constantFrom(...oddValues),
  fc
    .array(fc.constantFrom(...oddValues), { maxLength: 8 })
    .map((odd) => `{"batch":[${odd.join()}]}`),
  fc.array(fc.json({ maxDepth: 3 })).map((values) => `{"batch":[${values.join()}]}`),
  fc.string({ unit: 'binary' }),
)

/** Bytes, some of them changed, or cut off at the end. */
const damaged = (bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      bytes,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      fc.nat(),
      fc.boolean(),
    )
    .map(([whole, changes, end, isCut]) => {
      const copy = Buffer.from(whole)
      for (const [position, byte] of changes) {
        if (copy.length > 0) copy[position % copy.length] = byte
      }
      return isCut ? copy.subarray(0, end % (copy.length + 1)) : copy
    })

const plain = json.map((text) => Buffer.from(text))
const packed = plain.map((bytes) => gzipSync(bytes, { level: 1 }))

const manyKeys = Array.from({ length: 38_000 }, (_, key) => `"k${key}":0`).join()

/** Small bodies with large defaults for as many calls as they hold: copying them would take gigabytes. */
export const amplifyingBatches: readonly Buffer[] = [
  `"context":{"x":"${'x'.repeat(380 * 1024)}"}`,
  `"integrations":{"x":"${'x'.repeat(380 * 1024)}"}`,
  `"context":{"integrations":{"x":"${'x'.repeat(380 * 1024)}"}}`,
  `"context":{${manyKeys}}`,
].flatMap((shared) =>
  [
    '{}',
    '{"context":{"direct":true}}',
    '{"type":"track","userId":"u","event":"E"}',
    '{"type":"track","userId":"u","event":"E","context":{"direct":true}}',
  ].map((call) => {
    const calls = Array.from({ length: Math.min(2_500, 100_000 / call.length) }, () => call)
    return gzipSync(`{${shared},"batch":[${calls.join()}]}`)
  }),
)

const bytes = fc.oneof(
  { weight: 4, arbitrary: plain },
  { weight: 2, arbitrary: damaged(plain) },
  { weight: 2, arbitrary: packed },
  { weight: 2, arbitrary: damaged(packed) },
  fc.constantFrom(...amplifyingBatches.slice(0, 12)),
  fc.tuple(packed, packed).map((members) => Buffer.concat(members)),
  plain.map((whole) => deflateSync(whole)),
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
)

const paths = ['/v1/batch', '/v1/import', '/b', '/v1/track', '/v1/identify', '/i', '/v1/a', '/v1/m']

/** Any request that a broken or hostile client could post. */
export const anyRequest: fc.Arbitrary<Sent> = fc.record({
  path: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...paths) },
    fc.webPath().map((path) => `/${path}`),
  ),
  headers: fc
    .tuple(
      fc.constantFrom({}, { 'content-encoding': 'gzip' }, { 'content-encoding': 'br' }),
      fc.oneof(
        { weight: 6, arbitrary: fc.constant(basic(writeKey)) },
        fc.constantFrom({}, basic(''), basic('wk_unknown'), basic(disabledWriteKey)),
        fc.base64String().map((text) => ({ authorization: `Basic ${text}` })),
      ),
      fc.constantFrom({}, { origin: 'https://shop.example.com' }),
    )
    .map((parts): Readonly<Record<string, string>> => Object.assign({}, ...parts) as never),
  body: bytes,
})
