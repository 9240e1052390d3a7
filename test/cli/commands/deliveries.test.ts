import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { formatTimestamp } from '../../../src/model/index.ts'
import { run, start } from '../../support/io.ts'
import {
  delivered,
  expired,
  failed,
  hourMs,
  nowMs,
  retried,
  retriedWithout,
  storeOf,
  storeWith,
  type Sample,
} from '../deliveries/stores.ts'

const list = (url: string, ...flags: readonly string[]) =>
  run(['deliveries', 'list', '--store', url, ...flags])

/** Returns the ids of the listed deliveries. */
async function idsOf(url: string, ...flags: readonly string[]): Promise<readonly unknown[]> {
  const { code, records, stderr } = await list(url, '--json', ...flags)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return records.map(({ id }) => id)
}

describe('deliveries list', () => {
  test('prints a record with everything that is known about a delivery', async () => {
    const held = { url: 'https://example.com/a', untilMs: null }
    const left = { url: 'https://example.com/b', untilMs: nowMs + hourMs }
    const { url } = await storeWith(retriedWithout([held, left]), failed)
    const { code, records, stderr } = await run([
      'deliveries',
      '--store',
      url,
      '--json',
      '--reveal',
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(records).toEqual([
      expect.objectContaining({
        id: 'crm/2',
        state: 'failed',
        reason: 'status_404',
        dueAt: null,
        settledAt: formatTimestamp(nowMs - hourMs + 2_000),
      }),
      {
        v: 1,
        kind: 'delivery',
        id: 'crm/1',
        messageId: 'm_1',
        type: 'track',
        eventName: null,
        userId: 'u_1',
        source: 'website',
        destination: 'crm',
        state: 'pending',
        lane: 'retry',
        attempts: 3,
        windowAttempts: 3,
        manualRetries: 0,
        reason: 'status_503',
        acceptedAt: formatTimestamp(nowMs - hourMs),
        firstAttemptAt: formatTimestamp(nowMs - hourMs),
        dueAt: formatTimestamp(nowMs + hourMs),
        expiresAt: formatTimestamp(nowMs + 3 * hourMs),
        settledAt: null,
        holds: [
          { url: 'https://example.com/a', until: null },
          { url: 'https://example.com/b', until: formatTimestamp(nowMs + hourMs) },
        ],
      },
    ])
  })

  test('survives a time outside the range of dates', async () => {
    const holds = [{ url: 'https://example.com/', untilMs: 8.64e15 + 1 }]
    const { url } = await storeWith(retriedWithout(holds))
    const { records } = await list(url, '--json')
    expect(records).toMatchObject([{ holds: [{ until: '+275760-09-13T00:00:00.000Z' }] }])
    expect(await run(['deliveries', 'show', 'crm/1', '--store', url])).toMatchObject({ code: 0 })
  })

  test('prints a line for every delivery, the newest first', async () => {
    const { url } = await storeWith(delivered, { ...failed, type: 'page', userId: null }, retried, {
      ageMs: 90_000,
    })
    const { code, stdout, stderr } = await run(['deliveries', '--store', url])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'delivery  state      reason/next                  accepted  tries  user  event  messageId',
      'crm/4     pending    due for 1m                   1m ago        0  u_1   track  m_4',
      expect.stringMatching(
        /^crm\/3 {5}pending {4}due in 59m after status_503 {2}1h ago {8}3 {2}u_1 {3}track {2}m_3$/,
      ),
      'crm/2     failed     status_404                   1h ago        1  -     page   m_2',
      'crm/1     delivered                               1h ago        1  u_1   track  m_1',
      '',
    ])
  })

  test('fits a terminal, and is not shortened in a pipe', async () => {
    const { url } = await storeWith({ ...expired, messageId: 'm'.repeat(40) })
    const argv = ['deliveries', '--store', url]
    const pipe = await run(argv, { columns: 60 })
    expect(pipe.stdout).toContain('m'.repeat(40))
    const terminal = await run(argv, { columns: 60, isTTY: true })
    const lines = stripVTControlCharacters(terminal.stdout).trimEnd().split('\n')
    expect(lines.map(({ length }) => length <= 60)).toEqual([true, true])
    expect(lines[1]).toMatch(/^crm\/1 .* timeout .* track$/)
    expect(terminal.stderr).toBe('The terminal is too narrow for messageId.\n')
    expect(pipe.stderr).toBe('')
  })

  test('says that there are no deliveries, and ends with 0', async () => {
    const { url } = await storeWith()
    expect(await list(url)).toEqual(
      expect.objectContaining({ code: 0, stdout: '', stderr: 'No delivery matches.\n' }),
    )
    expect(await list(url, '--json')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('selects by every flag', async () => {
    const { url } = await storeWith(
      { ...delivered, userId: 'u_2', ageMs: 3 * hourMs },
      { ...failed, type: 'page', destinationIds: ['mail'] },
      expired,
      { ...retried, messageId: 'm_x', destinationIds: ['crm', 'mail'] },
    )
    expect(await idsOf(url)).toEqual(['mail/5', 'crm/4', 'crm/3', 'mail/2', 'crm/1'])
    expect(await idsOf(url, '--state', 'failed')).toEqual(['mail/2'])
    expect(await idsOf(url, '--state', 'failed', '--state', 'expired')).toEqual(['crm/3', 'mail/2'])
    expect(await idsOf(url, '--type', 'page')).toEqual(['mail/2'])
    expect(await idsOf(url, '--type', 'page', '--type', 'alias')).toEqual(['mail/2'])
    expect(await idsOf(url, '--user-id', 'u_2')).toEqual(['crm/1'])
    expect(await idsOf(url, '--destination', 'mail')).toEqual(['mail/5', 'mail/2'])
    expect(await idsOf(url, '--message', 'm_x')).toEqual(['mail/5', 'crm/4'])
    expect(await idsOf(url, '--message', 'm_x', '--destination', 'crm')).toEqual(['crm/4'])
    expect(await idsOf(url, '--until', '2h')).toEqual(['crm/1'])
    expect(await idsOf(url, '--since', '4h', '--until', '2h')).toEqual(['crm/1'])
    expect(await idsOf(url, '--since', '2h')).toHaveLength(4)
    const accepted = formatTimestamp(nowMs - 3 * hourMs)
    expect(await idsOf(url, '--since', accepted)).toHaveLength(5)
    expect(await idsOf(url, '--until', accepted)).toEqual([])
  })

  test('takes special characters in flags literally', async () => {
    const odd = '%_*?\'"; DROP TABLE deliveries; -- \u202e\u{1f600}'
    const { url } = await storeWith(
      { userId: odd, messageId: 'm_%', destinationIds: ['a/b'] },
      { userId: 'u_12345', messageId: 'm_1' },
    )
    expect(await idsOf(url, '--user-id', odd)).toEqual(['a/b/1'])
    expect(await idsOf(url, '--user-id', 'u_%')).toEqual([])
    expect(await idsOf(url, '--user-id', '')).toEqual([])
    expect(await idsOf(url, '--message', 'm_%')).toEqual(['a/b/1'])
    expect(await idsOf(url, '--destination', '%')).toEqual([])
    expect(await idsOf(url)).toHaveLength(2)
  })

  test('says that there are more than the limit, even after several pages', async () => {
    const { url } = await storeOf(1_203, {})
    const fifty = await list(url, '--json')
    expect(fifty.records).toHaveLength(50)
    expect(fifty).toMatchObject({
      code: 0,
      stderr: '... and more; see --limit\n',
    })
    const text = await list(url, '--limit', '2')
    expect(text.stdout.match(/^crm\/\d+/gm)).toEqual(['crm/1203', 'crm/1202'])
    expect(text.stderr).toBe('... and more; see --limit\n')
    const almost = await list(url, '--json', '--limit', '1202')
    expect(almost.stderr).toBe('... and more; see --limit\n')
    expect(almost.records).toHaveLength(1_202)
    const all = await idsOf(url, '--limit', '1203')
    expect(all).toEqual(Array.from({ length: 1_203 }, (_, index) => `crm/${1_203 - index}`))
    expect(await idsOf(url, '--limit', '1000000000')).toHaveLength(1_203)
  })

  test.each([
    ['output_closed', 0],
    ['SIGINT', 130],
    ['SIGTERM', 130],
  ] as const)('ends early on %s, with %d', async (reason, code) => {
    const { url } = await storeOf(1_203, {})
    const argv = ['deliveries', '--store', url, '--json', '--limit', '1000000']
    const command = start(argv)
    await command.stdout.matching(/\n/)
    command.stop(reason)
    const ended = await command.ended
    expect(ended).toMatchObject({ code, stderr: '' })
    expect(ended.records).toHaveLength(500)
  })

  test('prints no control characters', async () => {
    const evil = '\u001b[2J\u202e\u009bx\ny'
    const { url } = await storeWith({
      messageId: `m${evil}`,
      userId: `u${evil}`,
      sourceId: `s${evil}`,
      destinationIds: [`d${evil}`],
      body: JSON.stringify({ [`k${evil}`]: evil }),
      end: { kind: 'failed', attempts: 1, reason: `r${evil}` },
      requests: [{ url: `https://example.com/${evil}`, error: `e${evil}`, excerpt: `t${evil}` }],
    })
    const held = await storeWith(
      retriedWithout([{ url: `https://example.com/${evil}`, untilMs: null }]),
    )
    const shown = [
      await list(url),
      await run(['deliveries', 'show', `m${evil}`, '--store', url]),
      await run(['deliveries', 'retry', `m${evil}`, '--store', url]),
      await run(['deliveries', 'retry', `m${evil}`, '--store', url]),
      await run(['deliveries', 'show', `n${evil}`, '--store', url]),
      await run(['deliveries', 'show', 'crm/1', '--store', held.url]),
    ]
    expect(shown.map(({ code }) => code)).toEqual([0, 0, 0, 0, 2, 0])
    for (const { stdout, stderr } of shown) {
      expect(stdout + stderr).not.toMatch(/[\u001b\u009b\u202e]/)
    }
    expect(shown[0]?.stdout.trimEnd().split('\n')).toHaveLength(2)
  })

  test.each([
    [['sho'], 'Cannot run `evroute deliveries sho`: there is no', 'list, show, retry, discard'],
    [['--limit', '1', 'sho'], 'Cannot run `evroute deliveries sho`', 'list, show, retry, discard'],
    [['list', 'crm/1'], 'too many arguments: "crm/1"', 'deliveries list --help'],
    [['list', '--stat', 'failed'], 'there is no option --stat', 'Did you mean --state?'],
    [['--state', 'leased'], '--state cannot be "leased"', 'It must be one of pending, delivered'],
    [['--type', 'delet'], '--type cannot be "delet"', 'It must be one of identify'],
    [['--limit', '0'], '--limit cannot be "0"', 'It must be a whole number'],
    [['--since', 'yesterday'], '--since cannot be "yesterday"', 'It must be a timestamp such as'],
    [['--until', '-2h'], '--until cannot be "-2h"', 'It must be a timestamp such as'],
    [['show'], '<id> is missing', 'Try `evroute deliveries show crm/17`'],
    [['show', 'a', 'b'], 'too many arguments', 'deliveries show --help'],
  ])('ends %j with 2 and says what to do', async (argv, message, hint) => {
    const { url } = await storeWith()
    const { code, stdout, stderr } = await run(['deliveries', ...argv, '--store', url])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('deliveries retry', () => {
  const retry = (url: string, ...argv: readonly string[]) =>
    run(['deliveries', 'retry', '--store', url, ...argv])

  test('makes a delivery due at once, with a new window', async () => {
    const { url } = await storeWith(expired, expired)
    const { code, stdout, stderr } = await retry(url, 'crm/1')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1 delivery is due again\n' })
    expect(stderr).toContain('or run `send` or `replay` with this --store and the same --to')
    const { records } = await list(url, '--json')
    expect(records).toMatchObject([
      { id: 'crm/2', state: 'expired' },
      {
        id: 'crm/1',
        state: 'pending',
        lane: 'manual',
        attempts: 9,
        windowAttempts: 0,
        manualRetries: 1,
        reason: null,
        firstAttemptAt: null,
        expiresAt: null,
      },
    ])
    expect(Date.parse(records[1]?.['dueAt'] as string)).toBeGreaterThanOrEqual(nowMs)
  })

  test('accepts a messageId for all deliveries of an event', async () => {
    const { url } = await storeWith({ ...failed, destinationIds: ['crm', 'mail'] }, failed)
    const { code, records, stderr } = await retry(url, 'm_1', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(records).toEqual([{ v: 1, kind: 'retry', deliveries: 2, dryRun: false }])
    expect(await idsOf(url, '--state', 'failed')).toEqual(['crm/3'])
  })

  test('with --dry-run, counts the deliveries that it would retry, and changes nothing', async () => {
    const { url } = await storeWith({}, retried, failed, expired, delivered)
    const before = (await list(url, '--json')).stdout
    expect(await retry(url, '--all', '--dry-run')).toMatchObject({
      ...{ code: 0, stdout: '3 deliveries would be due again\n', stderr: '' },
    })
    expect((await retry(url, 'crm/3', '-n', '--json')).records).toEqual([
      { v: 1, kind: 'retry', deliveries: 1, dryRun: true },
    ])
    expect(await retry(url, 'crm/5', '-n')).toMatchObject({
      stdout: '0 deliveries would be due again\n',
      stderr: 'crm/5 was already delivered\n',
    })
    expect((await list(url, '--json')).stdout).toBe(before)
    expect((await retry(url, '--all', '--json')).records).toMatchObject([{ deliveries: 3 }])
  })

  test('retries the deliveries that the flags select, or all with --all', async () => {
    const { url } = await storeWith(
      { ...failed, type: 'page' },
      failed,
      expired,
      retried,
      delivered,
    )
    expect((await retry(url, '--state', 'failed', '--type', 'page', '--since', '2h')).stdout).toBe(
      '1 delivery is due again\n',
    )
    expect(await idsOf(url, '--state', 'failed')).toEqual(['crm/2'])
    expect((await retry(url, '--all')).stdout).toBe('3 deliveries are due again\n')
    expect(await idsOf(url, '--state', 'pending')).toHaveLength(4)
    expect(await run(['audit', '--store', url])).toMatchObject({ code: 0 })
  })

  test('retries more deliveries than fit into a batch', async () => {
    const { url } = await storeOf(1_203, failed)
    expect((await retry(url, '--user-id', 'u_1')).stdout).toBe('1,203 deliveries are due again\n')
  })

  test('stops between two batches after a signal', async () => {
    const { url } = await storeOf(1_203, failed)
    const command = start(['deliveries', 'retry', '--all', '--json', '--store', url])
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({
      code: 130,
      records: [{ kind: 'retry', deliveries: 500 }],
    })
  })

  test.each<[string, Sample, string]>([
    ['was already delivered', delivered, 'crm/1 was already delivered'],
    ['was not tried yet', {}, 'crm/1 is waiting for its first attempt'],
    [
      'was erased',
      { end: { kind: 'failed', attempts: 0, reason: 'erased' } },
      'crm/1 cannot be retried, because its user was deleted',
    ],
  ])(
    'says why it does not retry a delivery that %s, and ends with 0',
    async (_, sample, reason) => {
      const { url } = await storeWith(sample)
      const { code, stdout, stderr } = await retry(url, 'crm/1')
      expect({ code, stdout, stderr }).toEqual({
        code: 0,
        stdout: '0 deliveries are due again\n',
        stderr: `${reason}\n`,
      })
    },
  )

  test('retries a delivery once even if asked twice', async () => {
    const { url } = await storeWith(failed)
    await retry(url, 'crm/1')
    expect(await retry(url, 'crm/1')).toMatchObject({ code: 0, stderr: 'crm/1 is already due\n' })
    expect(await retry(url, '--state', 'failed')).toMatchObject({
      code: 0,
      stdout: '0 deliveries are due again\n',
      stderr:
        'No failed, expired or retrying delivery matches. Discarded ones are retried only by id or messageId.\n',
    })
  })

  test.each([
    [[], 'Cannot tell which deliveries are meant', 'pass --all'],
    [['crm/1', '--all'], 'Cannot use --all together with crm/1', ''],
    [['crm/1', '--state', 'failed'], 'Cannot use --state together with crm/1', ''],
    [['--since', '2h', '--all'], 'Cannot use --all together with --since', ''],
    [['--state', 'delivered'], '--state cannot be "delivered"', 'pending, failed, expired'],
    [['crm/9'], 'Cannot find "crm/9" in the store', 'deliveries list'],
    [['--all', '--store', 'memory:'], 'Cannot open the store "memory:"', 'sqlite:'],
  ])('exits with 2 for %j and changes nothing', async (argv, message, hint) => {
    const { url } = await storeWith(failed)
    const { code, stdout, stderr } = await retry(url, ...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(await idsOf(url, '--state', 'failed')).toEqual(['crm/1'])
  })
})
