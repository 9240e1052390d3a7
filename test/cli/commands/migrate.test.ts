import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { run, start } from '../../support/io.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const databases = new PostgresDatabases()

/** Creates a store with this many events, and an empty database. */
async function newStores(events = 3): Promise<{ readonly from: string; readonly to: string }> {
  const from = `sqlite:${join(await temporaryFolder(), 'store.db')}`
  const store = await openStore(from)
  const added = Array.from({ length: events }, (_, index) => event(`m_${index}`, 'crm', 'lake'))
  await store.add({ nowMs, seenSinceMs: 0, events: added, handOver: [] })
  await store.close()
  return { from, to: await databases.newUrl() }
}

const migrate = (from: string, to: string, ...flags: readonly string[]) =>
  run(['migrate', '--from', from, '--to', to, ...flags])

describe('migrate', () => {
  test('moves a store, prints both sides and names the new store', async () => {
    const { from, to } = await newStores()
    const { code, stdout, stderr } = await migrate(from, to)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^rows +file +database\nbodies +6 +6\ndeliveries +6 +6\n/)
    expect(stdout).toMatch(/^crm pending +3 +3$/m)
    expect(stdout).toMatch(/^ledger deliveries +6 +6$/m)
    expect(stderr).toMatch(
      /^Moved \S+ to the PostgreSQL database \w+ on \S+ \(schema \w+\): every row arrived/m,
    )
    expect(await run(['audit', '--store', to])).toMatchObject({ code: 0, stderr: '' })
    const [ofFile, ofDatabase] = await Promise.all(
      [from, to].map((url) => run(['deliveries', '--store', url, '--json'])),
    )
    expect(ofDatabase!.records).toEqual(expect.arrayContaining([...ofFile!.records]))
    const again = await migrate(from, to)
    expect(again).toMatchObject({ code: 0, stdout })
    expect(again.stderr).toContain('; there is nothing left to do')
    const send = await run(['send', 'track', '--to', 'http://127.0.0.1:9/', '--store', from])
    expect(send).toMatchObject({ code: 7, stdout: '' })
    expect(send.stderr).toMatch(
      /Cannot deliver from .*: it has been moved to the PostgreSQL database/,
    )
  })

  test('prints records', async () => {
    const { from, to } = await newStores()
    const { code, records, stderr } = await migrate(from, to, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(records).toMatchObject([{ v: 1, kind: 'migrated', outcome: 'moved' }])
    const figures = records[0]!['figures']
    expect(figures).toContainEqual({ what: 'deliveries', source: 6, target: 6 })
  })

  test('in a dry run, only reports what would move, as text and as records', async () => {
    const { from, to } = await newStores()
    const { code, stdout, stderr } = await migrate(from, to, '--dry-run')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^rows +file\nbodies +6\ndeliveries +6\n/)
    expect(stderr).toMatch(/^18 rows would move from sqlite:.* to the PostgreSQL database/)
    const finished = await migrate(from, to, '--dry-run', '--json')
    expect(finished.records).toMatchObject([
      { outcome: 'planned', moved: false, kinds: { deliveries: 6 } },
    ])
    const store = await openStore(from)
    await store.close()
  })

  test('ends with 130 when it is interrupted, and starts again later', async () => {
    const { from, to } = await newStores()
    const running = start(['migrate', '--from', from, '--to', to])
    running.stop('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(
      /^Interrupted: .* is still empty\. Run the same command again to start over\n$/,
    )
    expect(await migrate(from, to)).toMatchObject({ code: 0 })
  })

  test('continues if nothing reads its output', async () => {
    const { from, to } = await newStores()
    const running = start(['migrate', '--from', from, '--to', to])
    running.stop('output_closed')
    expect(await running.ended).toMatchObject({ code: 0 })
    expect(await run(['audit', '--store', to])).toMatchObject({ code: 0 })
  })

  test('ends with 1 if the database stores something different', async () => {
    const { from, to } = await newStores()
    const [, schema = ''] = /search_path(?:=|%3D)(\w+)/.exec(to) ?? []
    await (await openStore(to)).close()
    await databases.query(`
      CREATE FUNCTION ${schema}.change_attempts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.attempts = 9; RETURN NEW; END $$;
      CREATE TRIGGER changed BEFORE INSERT ON ${schema}.evroute_deliveries FOR EACH ROW
        EXECUTE FUNCTION ${schema}.change_attempts()`)
    const { code, stderr } = await migrate(from, to)
    expect(code).toBe(1)
    expect(stderr).toContain('Different: deliveries: attempts\n')
    expect(stderr).toContain('The move was undone')
    const finished = await migrate(from, to, '--json')
    expect(finished).toMatchObject({
      code: 1,
      records: [{ outcome: 'different', columns: ['deliveries: attempts'] }],
    })
  })

  test.each([
    [['--from', 'sqlite:x'], '--to <url> is missing'],
    [['--from', 'memory:', '--to', 'postgres://db.example.com/x'], 'it must be sqlite:<file>'],
    [['--from', 'postgres://me:hush@db.example.com/x', '--to', 'x'], 'it must be sqlite:<file>'],
    [['--from', 'sqlite:x', '--to', 'sqlite:y'], 'it must be a postgres:// URL. Write'],
    [['--from', 'sqlite:x', '--to', 'postgres://me:hu sh@db.example.com/x'], 'percent-encoded'],
  ])('refuses %j as usage, and shows no password', async (flags, message) => {
    const { code, stdout, stderr } = await run(['migrate', ...flags])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('hush')
  })

  test('takes the URL from a variable, and shows no password if the URL is unusable', async () => {
    const { from } = await newStores()
    const env = { TO: 'postgres://me:hush@127.0.0.1:1/x' }
    const { code, stderr } = await run(['migrate', '--from', from, '--to', 'env:TO'], { env })
    expect(code).toBe(7)
    expect(stderr).toContain('Cannot use the store postgres://me@127.0.0.1:1/x')
    expect(stderr).not.toContain('hush')
  })
})
