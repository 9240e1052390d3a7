import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/model/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const call = (messageId: string, day: string, fields: object = {}) =>
  JSON.stringify({
    type: 'track',
    userId: 'u_1',
    event: 'E',
    messageId,
    timestamp: `2026-10-${day}T00:00:00.000Z`,
    ...fields,
  })

const october = [
  call('m_1', '01'),
  call('m_2', '02', { type: 'identify' }),
  'broken',
  call('m_3', '03'),
  call('m_4', '04', { timestamp: 'noon' }),
].join('\n')

async function replay(argv: readonly string[], stdin = october) {
  const endpoint = await TestEndpoint.start()
  const ended = await run(['replay', ...argv, '--to', endpoint.url, '--json'], { stdin })
  const bodies = endpoint.bodies as readonly JsonObject[]
  return {
    ...ended,
    bodies,
    ids: bodies.map(({ messageId }) => messageId),
    summary: ended.records.at(-1),
  }
}

describe('replay', () => {
  test('sends the calls of several files, with their timestamps and messageIds', async () => {
    const folder = await temporaryFolder()
    const files = [join(folder, 'a.ndjson'), join(folder, 'b.json')]
    await writeFile(files[0]!, call('m_1', '01'))
    await writeFile(files[1]!, `[${call('m_2', '02')}]`)
    const { code, bodies } = await replay([...files, '-'], call('m_3', '03'))
    expect(code).toBe(0)
    expect(bodies.map(({ messageId, timestamp }) => [messageId, timestamp])).toEqual([
      ['m_1', '2026-10-01T00:00:00.000Z'],
      ['m_2', '2026-10-02T00:00:00.000Z'],
      ['m_3', '2026-10-03T00:00:00.000Z'],
    ])
  })

  test('rejects a row whose timestamp cannot be read, instead of sending it with the current time', async () => {
    const { code, bodies, records } = await replay(
      ['-'],
      call('m_1', '01', { timestamp: 1_577_836_800 }),
    )
    expect({ code, bodies }).toEqual({ code: 3, bodies: [] })
    expect(records).toContainEqual(
      expect.objectContaining({ kind: 'rejected', code: 'wrong_type' }),
    )
  })

  test('opens every file before it sends anything', async () => {
    const { code, bodies, stderr } = await replay(['-', '/nowhere/b.ndjson'])
    expect({ code, bodies }).toEqual({ code: 7, bodies: [] })
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'cannot_read_file' } })
  })

  test('says that there are no rows', async () => {
    const { code, stderr } = await replay(['-'], '')
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'The input has no rows\n' })
    expect((await replay(['-', '--since', '2027-01-01'])).stderr).not.toContain('no rows')
  })

  test('checks the format of every file before it sends anything, and names the wrong one', async () => {
    const folder = await temporaryFolder()
    const [good, wide] = [join(folder, 'good.ndjson'), join(folder, 'wide.ndjson')]
    await writeFile(good, call('m_1', '01'))
    await writeFile(wide, Buffer.from(`\ufeff${call('m_2', '01')}`, 'utf16le'))
    const { code, bodies, stderr } = await replay([good, wide])
    expect({ code, bodies }).toEqual({ code: 7, bodies: [] })
    const message = `Cannot read ${wide}: it is text in UTF-16`
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'cannot_read_file', message } })
  })

  test('sends events of an archive to webhooks, whatever their integrations were', async () => {
    const row = call('m_1', '01', {
      integrations: { All: false },
      archived: { sourceId: 'website', receivedAt: '2026-10-01T00:00:00.000Z' },
    })
    const { code, bodies } = await replay(['-'], row)
    expect(code).toBe(0)
    expect(bodies).toMatchObject([{ messageId: 'm_1', timestamp: '2026-10-01T00:00:00.000Z' }])
    expect(bodies[0]).not.toHaveProperty('archived')
  })

  test('counts a repeated call as a duplicate', async () => {
    const { code, summary } = await replay(['-'], `${call('m_1', '01')}\n${call('m_1', '01')}`)
    expect(code).toBe(0)
    expect(summary).toMatchObject({ read: 2, accepted: 2, routed: 1, duplicate: 1, delivered: 1 })
  })

  test('selects by type, and still rejects bad rows', async () => {
    const { code, ids, summary } = await replay(['-', '--type', 'identify', '--type', 'page'])
    expect({ code, ids }).toEqual({ code: 3, ids: ['m_2'] })
    expect(summary).toMatchObject({ read: 2, accepted: 1, rejected: 1 })
  })

  test('selects from --since up to, and not including, --until', async () => {
    expect(await replay(['-', '--since', '2026-10-02'])).toMatchObject({ ids: ['m_2', 'm_3'] })
    expect(await replay(['-', '--until', '2026-10-02'])).toMatchObject({ ids: ['m_1'] })
    const both = ['--since', '2026-10-02T00:00:00Z', '--until', '2026-10-03T00:00:00Z']
    expect(await replay(['-', ...both])).toMatchObject({ ids: ['m_2'] })
  })

  test.each([1_700_000_000, '1700000000', 'yesterday'])(
    'rejects a row with the timestamp %j, even if it selects by time',
    async (timestamp) => {
      const rows = [call('m_1', '03', { timestamp }), call('m_2', '03')].join('\n')
      for (const flags of [[], ['--since', '2026-10-02'], ['--until', '2026-10-04']]) {
        const { code, ids, summary } = await replay(['-', ...flags], rows)
        expect({ code, ids }).toEqual({ code: 3, ids: ['m_2'] })
        expect(summary).toMatchObject({ read: 2, rejected: 1, skipped: 0 })
      }
    },
  )

  test('rejects a deletion whose time it must select by and cannot read', async () => {
    const rows = [call('m_1', '03', { type: 'delete', timestamp: 'yesterday' }), call('m_2', '03')]
    const { code, ids, records } = await replay(['-', '--since', '2026-10-02'], rows.join('\n'))
    expect({ code, ids }).toEqual({ code: 3, ids: ['m_2'] })
    const message = 'Cannot select the row by time: its timestamp is not ISO 8601'
    expect(records).toContainEqual({ v: 1, kind: 'rejected', line: 1, code: 'wrong_type', message })
  })

  test('selects by the timestamp that the event will have', async () => {
    const rows = [
      call('m_1', '09', { originalTimestamp: '2026-10-01' }),
      call('m_2', '01', { originalTimestamp: '2026-10-09' }),
      call('m_3', '09', { originalTimestamp: '2026-10-01', timestamp: undefined }),
    ]
    const { ids } = await replay(['-', '--until', '2026-10-02'], rows.join('\n'))
    expect(ids).toEqual(['m_2', 'm_3'])
  })

  test('says how many rows were not selected', async () => {
    const argv = ['replay', '-', '--dry-run', '--type', 'identify']
    const text = await run(argv, { stdin: october })
    expect(text.stderr).toContain('\n3 rows were not selected\n2 read =')
    expect((await run([...argv, '-q'], { stdin: october })).stderr).not.toContain('selected')
    const json = await run([...argv, '--json'], { stdin: october })
    expect(json.records.at(-1)).toMatchObject({ kind: 'summary', read: 2, skipped: 3 })
    const all = await replay(['-'])
    expect(all.summary).toMatchObject({ skipped: 0 })
  })

  test('names the file of a rejected row if there are several files', async () => {
    const folder = await temporaryFolder()
    const files = [join(folder, 'a.ndjson'), join(folder, 'b.ndjson')]
    await writeFile(files[0]!, call('m_1', '01'))
    await writeFile(files[1]!, `${call('m_2', '01')}\n${call('m_3', '01', { event: 5 })}\nbroken`)
    const { records, stderr } = await replay(files)
    expect(stderr).toBe('')
    const rejected = records.filter(({ kind }) => kind === 'rejected')
    expect(rejected).toMatchObject([
      { file: files[1], line: 2, code: 'wrong_type' },
      { file: files[1], line: 3, code: 'invalid_json' },
    ])
    const text = await run(['replay', ...files, '-n'])
    expect(text.stderr).toContain(`${files[1]!} line 2: `)
  })

  test('finishes the rows so far if the rest cannot be read, and reports both', async () => {
    const endpoint = await TestEndpoint.start()
    const file = join(await temporaryFolder(), 'a.ndjson')
    await writeFile(file, `${call('m_1', '01')}\n`.repeat(500))
    // The second file can be opened, but its beginning cannot be read.
    const files = [file, '/proc/self/mem']
    const { code, stderr } = await run(['replay', ...files, '--to', endpoint.url])
    expect(code).toBe(7)
    expect(stderr).toMatch(
      /^evroute: Cannot read \/proc\/self\/mem: .*\n500 read = 500 accepted · 500 accepted = 1 routed \+ 499 duplicate · 1 delivery = 1 delivered \(.*\)\n$/,
    )
  })

  test('keeps to --rate', async () => {
    const stdin = [1, 2, 3, 4].map((n) => call(`m_${n}`, '01')).join('\n')
    const { records } = await replay(
      ['-', '--rate', '2/s', '--clock', 'virtual', '--flush-at', '1'],
      stdin,
    )
    const times = records
      .filter(({ kind }) => kind === 'request')
      .map(({ at }) => Date.parse(at as string))
    expect(times.slice(1).map((time, index) => time - times[index]!)).toEqual([500, 500, 500])
  })

  test('does not keep to --rate in a dry run', async () => {
    const stdin = [call('m_1', '01'), call('m_2', '01')].join('\n')
    const { code, records } = await replay(['-', '--rate', '1/h', '--dry-run'], stdin)
    expect({ code, kinds: records.map(({ kind }) => kind) }).toEqual({
      code: 0,
      kinds: ['plan', 'plan', 'summary'],
    })
  })

  test.each([
    [['--rate', '0/s'], 'It must be a rate such as 50/s, 300/m or 1000/h'],
    [['--rate', 'fast'], 'It must be a rate such as 50/s, 300/m or 1000/h'],
    [['--type', 'click'], 'identify, track, page, screen, group, alias, delete'],
    [['--since', 'yesterday'], 'It must be a timestamp such as'],
  ])('refuses %j with 2', async (argv, message) => {
    const { code, stderr } = await run(['replay', '-', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
