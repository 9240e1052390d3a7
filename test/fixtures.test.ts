import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openInput, readRows, type Row } from '../src/importer/index.ts'
import { normalise } from '../src/intake/index.ts'
import {
  callTypes,
  checkCall,
  isJsonObject,
  parseTimestamp,
  type AnalyticsEvent,
  type Destination,
  type JsonObject,
} from '../src/model/index.ts'
import { route } from '../src/router/index.ts'
import { buildWebhookBody } from '../src/webhook/index.ts'
import { fixture } from './support/fixtures.ts'

interface Expectation {
  readonly file: string
  readonly goodRows: number
  /** Each as `line code`. */
  readonly badRows: readonly string[]
}

/** The table of fixtures/README.md. */
function expectations(): readonly Expectation[] {
  const table = readFileSync(fixture('README.md'), 'utf8').matchAll(
    /^\| `(?<file>[^`]+)` \|[^|]*\| (?<goodRows>\d+) \|(?<badRows>[^|]*)\|$/gm,
  )
  return [...table].map(({ groups }) => ({
    file: groups?.['file'] ?? '',
    goodRows: Number(groups?.['goodRows']),
    badRows:
      (groups?.['badRows'] ?? '').match(/\d+ `\w+`/g)?.map((row) => row.replaceAll('`', '')) ?? [],
  }))
}

async function readFixture(name: string): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const group of readRows(await openInput(fixture(name), process.stdin))) {
    rows.push(...group)
  }
  return rows
}

/** `line code` when the row or the call in it is bad. */
function problemOf(row: Row): string | undefined {
  if (row.kind === 'bad') return `${row.line} ${row.code}`
  const check = checkCall(row.value)
  return check.kind === 'valid' ? undefined : `${row.line} ${check.code}`
}

async function goodValues(name: string): Promise<readonly JsonObject[]> {
  return (await readFixture(name)).flatMap((row) => (row.kind === 'row' ? [row.value] : []))
}

function readObject(name: string): JsonObject {
  const value: unknown = JSON.parse(readFileSync(fixture(name), 'utf8'))
  if (!isJsonObject(value)) throw new Error(`${name} holds no object`)
  return value
}

const destination: Destination = {
  id: 'crm',
  sourceIds: ['website'],
  enabled: true,
  endpoints: [],
  sharedSecret: undefined,
  aliasKeys: 'spec',
  acceptsHistorical: true,
  concurrency: 1,
}

function eventOf(call: JsonObject): AnalyticsEvent {
  const check = checkCall(call)
  if (check.kind !== 'valid') throw new Error(check.message)
  const receivedAtMs = Date.UTC(2026, 11, 1)
  const newId = () => 'none had to be made'
  return normalise(check.type, call, { sourceId: 'website', receivedAtMs, newId }).event
}

describe('fixtures/README.md', () => {
  it('lists every file that holds rows', () => {
    const folders = ['calls', 'good', 'bad'].flatMap((folder) =>
      readdirSync(fixture(folder)).map((file) => `${folder}/${file}`),
    )
    expect(expectations().map(({ file }) => file)).toEqual(
      expect.arrayContaining(['calls.ndjson', ...folders]),
    )
    expect(expectations()).toHaveLength(folders.length + 1)
  })

  it.each(expectations())('says what $file gives', async ({ file, goodRows, badRows }) => {
    const rows = await readFixture(file)
    const problems = rows.map(problemOf).filter((problem) => problem !== undefined)
    expect(problems).toEqual(badRows)
    expect(rows.length - problems.length).toBe(goodRows)
  })
})

describe('calls.ndjson', () => {
  it('has calls of all six types, each with its own messageId and a time in autumn 2026', async () => {
    const calls = await goodValues('calls.ndjson')
    expect(new Set(calls.map((call) => call['type']))).toEqual(new Set(callTypes))
    expect(new Set(calls.map((call) => call['messageId'])).size).toBe(1_000)
    const times = calls.map((call) => parseTimestamp(call['timestamp']) ?? 0)
    expect(Math.min(...times)).toBeGreaterThan(Date.UTC(2026, 8, 22))
    expect(Math.max(...times)).toBeLessThan(Date.UTC(2026, 11, 1))
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it('has calls that name their destinations, and none that a Webhooks destination would not get', async () => {
    const calls = await goodValues('calls.ndjson')
    const events = calls.map((call) => eventOf(call))
    const choices = new Set(events.map((event) => JSON.stringify(event.integrations)))
    expect(choices).toEqual(
      new Set(['{}', '{"All":true}', '{"Webhooks":true}', '{"All":false,"Webhooks":true}']),
    )
    for (const event of events) expect(route(event, [destination])).toMatchObject([{ send: true }])
  })

  it('aliases and identifies a visitor before anything else is known of the user', async () => {
    const known = new Set<unknown>()
    for (const call of await goodValues('calls.ndjson')) {
      if (call['type'] === 'alias') known.add(call['userId'])
      else if (call['userId'] !== undefined) expect(known).toContain(call['userId'])
    }
    expect(known.size).toBeGreaterThan(20)
  })
})

describe('good/', () => {
  it('calls.ndjson.gz has the first 50 rows of calls.ndjson', async () => {
    const calls = await goodValues('calls.ndjson')
    expect(await goodValues('good/calls.ndjson.gz')).toEqual(calls.slice(0, 50))
  })

  it('batch.json gives its context and integrations to each call, which wins', async () => {
    const calls = await goodValues('good/batch.json')
    const library = { name: 'evroute', version: '0.1.0' }
    const context = { ip: '203.0.113.24', library }
    expect(calls.map((call) => [call['context'], call['integrations']])).toEqual([
      [context, { All: true }],
      [{ ip: '198.51.100.9', library, locale: 'de-DE' }, { All: true }],
      [context, { All: true, Webhooks: true }],
    ])
  })

  it('duplicate-keys.ndjson: the last wins', async () => {
    const calls = await goodValues('good/duplicate-keys.ndjson')
    expect(calls.map((call) => call['event'])).toEqual(['Last', 'Product Added'])
    expect(calls[1]?.['properties']).toEqual({ sku: 'c' })
  })

  it('proto.ndjson is plain data', async () => {
    const calls = await goodValues('good/proto.ndjson')
    const text = readFileSync(fixture('good/proto.ndjson'), 'utf8')
    expect(calls.map((call) => `${JSON.stringify(call)}\n`).join('')).toBe(text)
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted')
  })
})

describe('webhooks/', () => {
  it.each(callTypes)('%s.json is what the call of that type is delivered as', (type) => {
    const body: unknown = JSON.parse(
      buildWebhookBody(eventOf(readObject(`calls/${type}.json`)), 'spec'),
    )
    // As text, since the order of the keys counts.
    expect(`${JSON.stringify(body, null, 2)}\n`).toBe(
      readFileSync(fixture(`webhooks/${type}.json`), 'utf8'),
    )
  })

  it('delete.json has its three fields only', () => {
    expect(Object.keys(readObject('webhooks/delete.json'))).toEqual(['type', 'userId', 'timestamp'])
  })
})
