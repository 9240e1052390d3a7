import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CapturedStream, run } from '../../support/io.ts'
import { startSource } from '../../support/run-source.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { delivered, expired, failed, falsify, retried, storeWith } from '../deliveries/stores.ts'

const audit = (url: string, ...flags: readonly string[]) => run(['audit', '--store', url, ...flags])

const samples = () =>
  storeWith(delivered, { ...failed, destinationIds: ['crm', 'mail'] }, expired, retried, {
    destinationIds: [],
  })

describe('audit', () => {
  test('prints the equations with their figures, and ends with 0', async () => {
    const { url } = await samples()
    expect(await audit(url)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: [
        '✔ 5 accepted = 4 routed + 1 filtered + 0 duplicate + 0 suppressed',
        '✔ 5 deliveries = 1 delivered + 2 failed + 1 expired + 1 pending',
        '✔ 1 pending = 1 in the store',
        '✔ 1 delivered = 1 in the store + 0 purged',
        '✔ 2 failed = 2 in the store + 0 purged',
        '✔ 1 expired = 1 in the store + 0 purged',
        '✔ no deliveries without a body',
        '',
      ].join('\n'),
    })
  })

  test('prints the figures as a record', async () => {
    const { url } = await samples()
    const { code, records, stderr } = await audit(url, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(records).toEqual([
      {
        v: 1,
        kind: 'audit',
        balanced: true,
        ledger: {
          accepted: 5,
          routed: 4,
          filtered: 1,
          duplicate: 0,
          suppressed: 0,
          deliveries: 5,
          delivered: 1,
          failed: 2,
          expired: 1,
          pending: 1,
        },
        counted: { pending: 1, delivered: 1, failed: 2, expired: 1 },
        purged: { delivered: 0, failed: 0, expired: 0 },
        withoutBody: 0,
        imbalances: [],
      },
    ])
  })

  test.each([
    [
      'an event that was counted and never stored',
      "UPDATE counts SET count = count + 1 WHERE name = 'accepted'",
      ['✖ 6 accepted = 4 routed + 1 filtered + 0 duplicate + 0 suppressed: 1 too many on the left'],
    ],
    [
      'a delivery that was lost',
      "DELETE FROM deliveries WHERE state = 'delivered'",
      ['✖ 1 delivered = 0 in the store + 0 purged: 1 too many on the left'],
    ],
    [
      'deliveries that were settled without the ledger',
      "UPDATE deliveries SET state = 'delivered', settled_at = 0 WHERE state = 'failed'",
      [
        '✖ 1 delivered = 3 in the store + 0 purged: 2 too few on the left',
        '✖ 2 failed = 0 in the store + 0 purged: 2 too many on the left',
      ],
    ],
    [
      'purged deliveries that never existed',
      "INSERT INTO counts VALUES ('crm', 'purged_expired', 1500)",
      ['✖ 1 expired = 1 in the store + 1,500 purged: 1,500 too few on the left'],
    ],
    [
      'deliveries without a body',
      'DELETE FROM messages WHERE id = 2',
      ['✖ 2 deliveries without a body = 0: 2 too many on the left'],
    ],
  ])('finds %s, and ends with 1', async (_, sql, lines) => {
    const store = await samples()
    await falsify(store, sql)
    const { code, stdout, stderr } = await audit(store.url)
    expect(code).toBe(1)
    expect(stdout.split('\n').filter((line) => line.startsWith('✖'))).toEqual(lines)
    expect(stdout.match(/^✔/gm)).toHaveLength(7 - lines.length)
    expect(stderr).toMatch(
      lines.length === 1
        ? /^The ledger does not balance: 1 of 7 equations does not hold\n$/
        : /^The ledger does not balance: 2 of 7 equations do not hold\n$/,
    )
    const inJson = await audit(store.url, '--json')
    expect(inJson).toMatchObject({ code: 1, stderr: '' })
    expect(inJson.records).toMatchObject([{ balanced: false }])
    expect(inJson.records[0]?.['imbalances']).toHaveLength(lines.length)
  })

  test('names an imbalance in its record', async () => {
    const store = await samples()
    await falsify(
      store,
      "UPDATE counts SET count = count + 1203 WHERE name = 'pending' AND destination_id = 'crm'",
    )
    expect((await audit(store.url, '--json')).records).toMatchObject([
      {
        imbalances: [
          {
            equation: '5 deliveries = 1 delivered + 2 failed + 1 expired + 1204 pending',
            difference: -1_203,
          },
          { equation: '1204 pending = 1 in the store', difference: 1_203 },
        ],
      },
    ])
  })
})

describe('every command about a store', () => {
  const commands = [
    ['audit'],
    ['deliveries'],
    ['deliveries', 'list'],
    ['deliveries', 'show', 'crm/1'],
    ['deliveries', 'retry', '--all'],
  ]

  test.each(commands)(
    'takes the store from --store, or else from EVROUTE_STORE: %s %s',
    async (...argv) => {
      const { url } = await samples()
      const env = { EVROUTE_STORE: url }
      expect(await run(argv, { env })).toMatchObject({ code: 0 })
      const other = { EVROUTE_STORE: 'sqlite:/nowhere/evroute.db' }
      expect(await run([...argv, '--store', url], { env: other })).toMatchObject({ code: 0 })
      expect(await run(argv, { env: { EVROUTE_STORE: '' } })).toMatchObject({
        code: 2,
        stderr:
          'evroute: Cannot tell which store is meant: there is no evroute.config.json here. ' +
          'Pass --store sqlite:<file> or postgres://..., or set EVROUTE_STORE. ' +
          'To ask a running service, pass --api <url>.\n',
      })
    },
  )

  test.each(commands)('refuses a store that cannot be used: %s %s', async (...argv) => {
    const folder = await temporaryFolder()
    const text = join(folder, 'text')
    await writeFile(text, 'no store, but a text that is longer than the header of one'.repeat(9))
    const newer = await samples()
    await falsify(newer, 'PRAGMA user_version = 99')
    const foreign = await samples()
    await falsify(foreign, 'PRAGMA application_id = 1')
    const refused = [
      [`sqlite:${join(folder, 'missing.db')}`, 7],
      [`sqlite:${folder}`, 7],
      [`sqlite:${text}`, 7],
      [newer.url, 7],
      [foreign.url, 7],
      ['memory:', 2],
      ['postgres://localhost:0/evroute', 2],
      ['evroute.db', 2],
      ['', 2],
    ] as const
    for (const [url, code] of refused) {
      const ended = await run([...argv, '--json', '--store', url])
      expect({ url, code: ended.code, stdout: ended.stdout }).toEqual({ url, code, stdout: '' })
      expect(JSON.parse(ended.stderr)).toEqual({
        error: {
          code: code === 7 ? 'store_unusable' : 'invalid_setting',
          message: expect.stringMatching(/^Cannot /) as string,
          hint: expect.stringMatching(/\.$/) as string,
        },
      })
    }
  })

  test('works while a process delivers', async () => {
    const { url } = await storeWith({ ...failed, messageId: 'm_by_hand' })
    const child = startSource(new URL('../deliveries/deliver-store.ts', import.meta.url), [url])
    const output = new CapturedStream()
    child.stdout!.on('data', (chunk: Buffer) => output.write(chunk.toString()))
    await output.matching(/delivering/)
    for (let round = 0; round < 2; round++) {
      for (const argv of commands) {
        const { code, stderr } = await run([...argv, '--store', url, '--json'])
        expect({ argv, code, stderr: stderr.replace(/^\.\.\. and more.*\n$/, '') }).toEqual({
          argv,
          code: 0,
          stderr: '',
        })
      }
    }
    await output.matching(/by hand m_by_hand\n/)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const shown = await run(['deliveries', 'show', 'm_by_hand', '--store', url])
    expect(shown.stdout).toContain('delivered on its 2nd attempt')
    expect(await audit(url)).toMatchObject({ code: 0 })
  })
})
