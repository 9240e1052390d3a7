import { copyFileSync, renameSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { freePort } from '../../support/free-port.ts'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const rows = ['u_1', 'u_2', 'u_3'].map((userId) =>
  JSON.stringify({ type: 'track', userId, event: 'Order Completed' }),
)

describe('--store', () => {
  let folder = ''
  let store = ''
  let file = ''
  beforeEach(async () => {
    folder = await temporaryFolder()
    store = `sqlite:${join(folder, 'store.db')}`
    file = join(folder, 'history.ndjson')
    await writeFile(file, rows.join('\n'))
  })

  const replayTo = (url: string): readonly string[] => [
    'replay',
    file,
    '--to',
    url,
    '--store',
    store,
    '--json',
  ]

  test('replays a file only once, however often it is run', async () => {
    const endpoint = await TestEndpoint.start()
    const first = await run(replayTo(endpoint.url))
    const second = await run(replayTo(endpoint.url))
    expect([first.code, second.code]).toEqual([0, 0])
    expect(endpoint.requests).toHaveLength(3)
    expect(first.records.at(-1)).toMatchObject({ read: 3, routed: 3, deliveries: 3, delivered: 3 })
    expect(second.records.at(-1)).toMatchObject({
      read: 3,
      accepted: 3,
      routed: 0,
      duplicate: 3,
      deliveries: 0,
      pending: 0,
    })
  })

  test('sends a row twice if a file contains it twice, even on one line', async () => {
    const endpoint = await TestEndpoint.start()
    await writeFile(file, `[${rows[0] ?? ''},${rows[0] ?? ''}]`)
    await run(replayTo(endpoint.url))
    await run(replayTo(endpoint.url))
    expect(endpoint.requests).toHaveLength(2)
  })

  test('continues with the deliveries of an interrupted run, and counts them', async () => {
    let isWell = false
    const endpoint = await TestEndpoint.start(({ body }) =>
      isWell || body.includes('u_1') ? 200 : 'hang',
    )
    const interrupted = start(replayTo(endpoint.url))
    await interrupted.stdout.record('delivery')
    await endpoint.received(3)
    interrupted.stop('SIGTERM')
    const { code, stderr, records } = await interrupted.ended
    expect(code).toBe(130)
    expect(stderr).toContain('Interrupted: 2 of 3 deliveries pending, kept in sqlite:')
    expect(records.at(-1)).toMatchObject({ read: 3, deliveries: 3, delivered: 1, pending: 2 })

    isWell = true
    const resumed = await run(replayTo(endpoint.url))
    expect(resumed.code).toBe(0)
    expect(resumed.records.at(-1)).toMatchObject({
      read: 3,
      duplicate: 3,
      routed: 0,
      deliveries: 2,
      delivered: 2,
      pending: 0,
    })
    expect(endpoint.requests).toHaveLength(5)
  })

  test('warns that an interrupted send would add calls again', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const interrupted = start(['send', '-f', file, '--to', endpoint.url, '--store', store])
    await endpoint.received(3)
    interrupted.stop('SIGTERM')
    const { stderr } = await interrupted.ended
    expect(stderr).toMatch(
      /\nNext: evroute send .*\nCalls without a messageId will be sent a second time\n$/,
    )
  })

  test('delivers stored webhooks of its own destination only', async () => {
    const [endpoint, other] = await Promise.all([TestEndpoint.start(), TestEndpoint.start('hang')])
    const interrupted = start(replayTo(other.url))
    await other.received(3)
    interrupted.stop('SIGTERM')
    await interrupted.ended
    const argv = ['send', 'track', '--to', endpoint.url, '--store', store, '--json']
    const { code, records } = await run(argv)
    expect(code).toBe(0)
    expect(records.at(-1)).toMatchObject({ read: 1, deliveries: 1, delivered: 1, pending: 0 })
    expect(endpoint.requests).toHaveLength(1)
  })

  test('recognises a destination however its URL is spelled', async () => {
    const endpoint = await TestEndpoint.start()
    const { port } = new URL(endpoint.url)
    await run(replayTo(`http://127.0.0.1:${port}`))
    const { records } = await run(replayTo(`HTTP://127.0.0.1:0${port}/#top`))
    expect(records.at(-1)).toMatchObject({ duplicate: 3, deliveries: 0 })
    expect(endpoint.requests).toHaveLength(3)
  })

  test('sends a second destination the rows that the first one got', async () => {
    const [wrong, right] = await Promise.all([TestEndpoint.start(404), TestEndpoint.start()])
    expect((await run(replayTo(wrong.url))).code).toBe(4)
    const { code, records } = await run(replayTo(right.url))
    expect(code).toBe(0)
    expect(records.at(-1)).toMatchObject({ routed: 3, duplicate: 0, delivered: 3 })
  })

  test('does not end with 0 if an earlier delivery failed', async () => {
    const endpoint = await TestEndpoint.start(404)
    await run(replayTo(endpoint.url))
    const { code, stderr, records } = await run(replayTo(endpoint.url))
    expect(records.at(-1)).toMatchObject({ duplicate: 3, deliveries: 0 })
    expect(code).toBe(4)
    expect(stderr).toContain('evroute deliveries --store sqlite:')
  })

  test('leaves untried deliveries in the store, says so, and delivers them with the next run', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/hook`
    const many = Array.from({ length: 40 }, (_, index) => rows[0]!.replace('u_1', `u_${index}`))
    await writeFile(file, many.join('\n'))
    const down = await run([...replayTo(url), '--retry-for', '0s'])
    expect(down.code).toBe(4)
    expect(down.stderr).toMatch(/Still pending: \d+ of 40 deliveries, kept in sqlite:/)
    const { pending, expired } = down.records.at(-1) as Record<string, number>
    expect(pending).toBeGreaterThan(0)
    expect(pending! + expired!).toBe(40)

    const endpoint = await TestEndpoint.start(200, undefined, { port })
    const { records } = await run(replayTo(url))
    expect(records.at(-1)).toMatchObject({ duplicate: 40, deliveries: pending, delivered: pending })
    expect(endpoint.requests).toHaveLength(pending!)
  })

  test('recognises its rows weeks later', async () => {
    const endpoint = await TestEndpoint.start()
    await run(replayTo(endpoint.url))
    const database = await openDatabase(join(folder, 'store.db'))
    database.exec(`UPDATE seen SET seen_at = seen_at - ${21 * 24 * 60 * 60 * 1_000}`)
    database.close()
    expect((await run(replayTo(endpoint.url))).records.at(-1)).toMatchObject({ duplicate: 3 })
  })

  test('ends with 7 once the store is broken, and claims nothing', async () => {
    const endpoint = await TestEndpoint.start(() => {
      // During the first request, the store's file is replaced by another one.
      copyFileSync(join(folder, 'other.db'), join(folder, 'new.db'))
      renameSync(join(folder, 'new.db'), join(folder, 'store.db'))
      return 200
    })
    await (await openStore(`sqlite:${join(folder, 'other.db')}`)).close()
    const many = Array.from({ length: 3_000 }, (_, index) => ({
      type: 'track',
      userId: 'u_1',
      event: `Order ${index}`,
    }))
    await writeFile(file, many.map((row) => JSON.stringify(row)).join('\n'))
    const { code, stdout, stderr } = await run(replayTo(endpoint.url))
    expect(code).toBe(7)
    expect(stderr).toContain('store_unusable')
    expect(stderr).not.toContain('Something went wrong inside evroute')
    expect(stdout).not.toContain('"summary"')
  })

  test('sends a deletion from a file only once, too', async () => {
    const endpoint = await TestEndpoint.start()
    await writeFile(file, '{"type":"delete","userId":"u_1"}')
    await run(replayTo(endpoint.url))
    const { records } = await run(replayTo(endpoint.url))
    expect(endpoint.requests).toHaveLength(1)
    expect(records.at(-1)).toMatchObject({ read: 1, accepted: 1, duplicate: 1 })
  })

  test('ends with 7 while another process is delivering from the store', async () => {
    const held = await openStore(store)
    const { code, stderr } = await run(['send', 'track', '--store', store, '--json'])
    await held.close()
    expect(code).toBe(7)
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'store_in_use' } })
  })

  test.each([
    [['--dry-run'], '--dry-run'],
    [['--clock', 'virtual'], '--clock virtual'],
    [['--endpoint', 'http://127.0.0.1:1/', '--write-key', 'wk_example'], 'a service'],
  ])('is refused together with %j', async (flags, named) => {
    const { code, stderr } = await run(['send', 'track', '--store', store, ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain(`Cannot use --store together with ${named}`)
  })

  test('is refused if it names no store', async () => {
    const { code, stderr } = await run(['send', 'track', '--store', 'mysql:x'])
    expect(code).toBe(2)
    expect(stderr).toContain('mysql:x')
  })
})
