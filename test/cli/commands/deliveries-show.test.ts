import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { formatTimestamp, hiddenEndpoint } from '../../../src/model/index.ts'
import { run, type RunSettings } from '../../support/io.ts'
import {
  delivered,
  failed,
  falsify,
  hourMs,
  nowMs,
  retried,
  retriedWithout,
  storeWith,
} from '../deliveries/stores.ts'

const show = (url: string, id: string, settings?: RunSettings) =>
  run(['deliveries', 'show', id, '--store', url], settings)

const showJson = (url: string, id: string) =>
  run(['deliveries', 'show', id, '--json', '--reveal', '--store', url])

const atMs = nowMs - hourMs

describe('deliveries show', () => {
  test('shows the whole history', async () => {
    const { url } = await storeWith({
      ...failed,
      type: 'identify',
      body: '{"version":1,"type":"identify","userId":"u_1","traits":{"plan":"pro"}}',
      requests: [
        { excerpt: 'upstream is\ndown' },
        {
          lane: 'manual',
          attempt: 2,
          atMs: atMs + 9_000,
          status: 404,
          error: 'status_404',
          outcome: 'final',
        },
      ],
    })
    const { code, stdout, stderr } = await show(url, 'crm/1')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // Times on a different day include the date.
    const time = String.raw`(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d`
    const expected = [
      'Delivery     crm/1',
      'Event        IDENTIFY m_1',
      'User         u_1',
      'Source       website',
      'Destination  crm',
      String.raw`Accepted     ${time} \(1h ago\)`,
      String.raw`State        failed at ${time} \((59m( \d+s)?|1h) ago\): answered 404`,
      '',
      'Requests',
      String.raw`  ${time}\.\d{3}  attempt 1  status_503  https://example.com/…#[0-9a-f]{6}  12ms`,
      '    └ upstream is down',
      String.raw`  ${time}\.\d{3}  attempt 2 by hand  status_404  https://example.com/…#[0-9a-f]{6}  12ms`,
      '',
      String.raw`Body \(70 bytes\)`,
      String.raw`  \{`,
      '    "version": 1,',
      '    "type": "identify",',
      '    "userId": "u_1",',
      String.raw`    "traits": \{`,
      '      "plan": "pro"',
      String.raw`    \}`,
      String.raw`  \}`,
    ]
    expect(stdout).toMatch(new RegExp(`^${expected.join('\n')}\n$`))
  })

  test('prints the history as a record, with the exact body', async () => {
    const body = '{"version":1, "type":"track","big":12345678901234567890}'
    const { url } = await storeWith({
      ...delivered,
      body,
      requests: [{ outcome: 'success', status: 200, error: null, excerpt: 'ok\n' }],
    })
    const { code, records, stderr } = await showJson(url, 'crm/1')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const listed = await run(['deliveries', '--store', url, '--json'])
    const { v, kind, ...delivery } = listed.records[0] ?? {}
    expect({ v, kind }).toEqual({ v: 1, kind: 'delivery' })
    expect(records).toEqual([
      {
        v: 1,
        kind: 'story',
        delivery,
        requests: [
          {
            url: 'https://example.com/hook',
            lane: 'first',
            attempt: 1,
            outcome: 'success',
            status: 200,
            error: null,
            ms: 12,
            at: formatTimestamp(atMs + 1_000),
            excerpt: 'ok\n',
          },
        ],
        body,
      },
    ])
  })

  test('shows every delivery of an event', async () => {
    const { url } = await storeWith({ ...failed, destinationIds: ['crm', 'mail'] }, delivered)
    const { stdout } = await show(url, 'm_1')
    expect(stdout.match(/^Delivery.*$/gm)).toEqual(['Delivery     mail/2', 'Delivery     crm/1'])
    expect(stdout).toContain('}\n\nDelivery')
    expect((await showJson(url, 'm_1')).records).toHaveLength(2)
  })

  test('finds a delivery by its number, and a messageId that looks like one', async () => {
    const { url } = await storeWith({}, { messageId: '7', type: 'page' }, {})
    expect((await show(url, '2')).stdout).toMatch(/^Delivery {5}crm\/2$/m)
    expect((await show(url, '7')).stdout).toContain('PAGE 7')
    expect(await show(url, '9')).toMatchObject({ code: 2, stdout: '' })
    expect(await show(url, '999999999999999')).toMatchObject({ code: 2, stdout: '' })
  })

  test('accepts a messageId that looks like the id of a delivery, unless that delivery exists', async () => {
    const { url } = await storeWith({ messageId: 'crm/2' }, { messageId: 'crm/9', type: 'page' })
    expect((await show(url, 'crm/9')).stdout).toContain('PAGE crm/9')
    // The id of a delivery takes precedence.
    expect((await show(url, 'crm/2')).stdout).toContain('PAGE crm/9')
  })

  test('shows why a delivery waits', async () => {
    const holds = [
      { url: 'https://example.com/a', untilMs: null },
      { url: 'https://example.com/b', untilMs: nowMs + hourMs },
    ]
    const { url } = await storeWith(retriedWithout(holds), {})
    const waiting = (await show(url, 'crm/1')).stdout
    expect(waiting).toMatch(
      /^State {8}waits for its 4th attempt after status_503, due in 59m \d+s \(.*\); expires at /m,
    )
    expect(waiting).toContain(
      `Skipped      ${hiddenEndpoint('https://example.com/a')}: refused this delivery\n`,
    )
    expect(waiting).toMatch(/^Skipped {6}https:\/\/example\.com\/…#[0-9a-f]{6}: until /m)
    const due = (await show(url, 'crm/2')).stdout
    expect(due).toMatch(/^State {8}waits for its 1st attempt, due for 1h \(since /m)
    expect(due).toContain('It is being sent, or no endpoint of its destination answers')
    expect(due).toContain('Requests\n  none yet\n')
  })

  test('says how often a delivery was retried by hand', async () => {
    const { url } = await storeWith(retried)
    await run(['deliveries', 'retry', 'crm/1', '--store', url])
    const { stdout } = await show(url, 'crm/1')
    expect(stdout).toMatch(/waits for its 4th attempt, which was requested by hand, due for \d+/)
    expect(stdout).toContain('By hand      retried once\n')
  })

  test('shows a body that is not JSON, and a missing body', async () => {
    const { url, path } = await storeWith({ body: 'no json' }, { body: 'gone' })
    await falsify({ url, path }, "DELETE FROM messages WHERE body = 'gone'")
    expect((await show(url, 'crm/1')).stdout).toContain('Body (7 bytes)\n  no json\n')
    expect((await show(url, 'crm/2')).stdout).toContain(
      'the body of this webhook is missing from the store\n',
    )
  })

  test('says that a body was erased', async () => {
    const gone = { userId: null, body: '' }
    const end = { kind: 'failed', attempts: 0, reason: 'erased' } as const
    const { url } = await storeWith({ ...gone, end }, { ...delivered, ...gone })
    expect((await show(url, 'crm/1')).stdout).toContain(
      'the body was erased, because its user was deleted\n',
    )
    expect((await show(url, 'crm/2')).stdout).toContain(
      'the body was erased with its user, or is missing from the store\n',
    )
  })

  test('shortens answers only on a terminal', async () => {
    const { url } = await storeWith({ ...failed, requests: [{ excerpt: 'x'.repeat(4_000) }] })
    expect((await show(url, 'crm/1')).stdout).toContain(`└ ${'x'.repeat(4_000)}\n`)
    const { stdout } = await show(url, 'crm/1', { isTTY: true, columns: 80 })
    expect(stripVTControlCharacters(stdout)).toContain(`└ ${'x'.repeat(399)}…\n`)
  })

  test.each([
    { given: 'a terminal', settings: { isTTY: true }, flags: [], coloured: true },
    {
      given: 'a terminal and --no-color',
      settings: { isTTY: true },
      flags: ['--no-color'],
      coloured: false,
    },
    { given: 'a pipe', settings: {}, flags: [], coloured: false },
  ])('uses colour as usual, with $given', async ({ settings, flags, coloured }) => {
    const { url } = await storeWith(failed)
    const shown = [
      await run(['deliveries', 'show', 'crm/1', '--store', url, ...flags], settings),
      await run(['deliveries', '--store', url, ...flags], settings),
      await run(['audit', '--store', url, ...flags], settings),
    ]
    for (const { stdout } of shown) expect(stdout.includes('\u001b[')).toBe(coloured)
  })

  test('ends with 2 for an unknown delivery', async () => {
    const { url } = await storeWith(delivered)
    for (const id of ['crm/2', 'mail/1', 'm_2', '', 'crm/', '/1', 'crm/99999999999999999999']) {
      const { code, stdout, stderr } = await showJson(url, id)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(JSON.parse(stderr)).toEqual({
        error: {
          code: 'invalid_usage',
          message: `Cannot find "${id}" in the store: no delivery has this id or messageId`,
          hint: expect.stringContaining('evroute deliveries list') as string,
        },
      })
    }
  })
})
