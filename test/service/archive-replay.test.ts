import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { ArchiveReplay } from '../../src/service/archive-replay.ts'
import { TestEndpoint, type Plan } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  configurationOf,
  documentFor,
  manualClock,
  startService,
  token,
} from './running-service.ts'

/** Starts a service that archives the calls of `website`, with the destinations `crm` and `mail`. */
async function startArchiving(sections: object = {}, plan: Plan = 200) {
  const [crm, mail] = [await TestEndpoint.start(plan), await TestEndpoint.start(plan)]
  const archive = { directory: join(await temporaryFolder(), 'archive') }
  const document = documentFor(crm, {
    sources: [{ id: 'website', writeKeys: ['wk_example'], archive }],
    destinations: [
      { id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url: crm.url }] },
      { id: 'mail', type: 'Webhooks', sources: ['website'], endpoints: [{ url: mail.url }] },
    ],
    ...sections,
  })
  const clock = manualClock()
  return { crm, mail, clock, archive, ...(await startService(document, clock)) }
}

const messageIds = ({ bodies }: TestEndpoint) =>
  bodies.map((body) => (body as { messageId: string }).messageId)

describe('a replay of archived events', () => {
  test('sends them again to one destination, marked as replayed in their integrations', async () => {
    const { crm, mail, track, admin, settled } = await startArchiving()
    await track('m_1', undefined, { integrations: { All: false } })
    await track('m_2')
    await track('m_2')
    await expect.poll(() => settled).toHaveLength(2)
    expect(await admin('/v1/replay', { source: 'website', destination: 'crm' })).toMatchObject({
      status: 200,
      body: { kind: 'replay', events: 2, deliveries: 2, unreadable: 0 },
    })
    await expect.poll(() => settled).toHaveLength(4)
    // The event that no destination accepted is now sent to crm. The duplicate is not.
    expect(messageIds(crm).toSorted()).toEqual(['m_1', 'm_2', 'm_2'])
    expect(messageIds(mail)).toEqual(['m_2'])
    const [first, again] = crm.bodies.filter((_, index) => messageIds(crm)[index] === 'm_2')
    expect(again).toEqual(first)
    expect(await admin('/v1/audit')).toMatchObject({ body: { balanced: true } })
    // Only archived events are replayed, not earlier replays.
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      body: { events: 2, deliveries: 4 },
    })
  })

  test('sends events as large as a call may be', async () => {
    const { track, admin } = await startArchiving()
    await track('m_1', undefined, { properties: { text: 'x'.repeat(32_600) } })
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      body: { events: 1, deliveries: 2, unreadable: 0 },
    })
  })

  test('selects by time, type and name', async () => {
    const { track, admin, clock } = await startArchiving()
    await track('m_1')
    clock.jump(60_000)
    await track('m_2', undefined, { event: 'Signup Started' })
    const replayed = async (body: object) =>
      ((await admin('/v1/replay', body)).body as { events: number }).events
    expect(await replayed({ since: '30s' })).toBe(1)
    expect(await replayed({ until: '30s' })).toBe(1)
    expect(await replayed({ since: '2m' })).toBe(2)
    expect(await replayed({ since: '2026-01-03' })).toBe(0)
    expect(await replayed({ event: 'Signup Started' })).toBe(1)
    expect(await replayed({ type: 'identify' })).toBe(0)
    expect(await replayed({ type: ['identify', 'track'] })).toBe(2)
  })

  test('leaves queue room for new calls', async () => {
    const limited = { limits: { backlogMax: 4 } }
    const { track, admin, clock } = await startArchiving(limited, 'hang')
    await track('m_1')
    await track('m_2')
    // Half of the room is taken, so the replay waits.
    const replay = admin('/v1/replay', { all: true })
    replay.catch(() => undefined)
    await clock.advance(5_000)
    expect(await admin('/v1/ledger')).toMatchObject({ body: { deliveries: 4 } })
    expect(await track('m_3')).toMatchObject({ status: 200 })
  })

  test('is refused if no source has an archive', async () => {
    const { crm, admin, reconfigure, archive } = await startArchiving()
    await reconfigure(documentFor(crm))
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      status: 409,
      body: { error: { code: 'no_archive' } },
    })
    await reconfigure(documentFor(crm, { source: { archive } }))
    expect(await admin('/v1/replay', { all: true })).toMatchObject({ body: { events: 0 } })
  })

  test('includes events that could not be archived at first and were not acknowledged', async () => {
    const { crm, archive, track, reconfigure, admin } = await startArchiving()
    const unwritable = { archive: { directory: '/dev/null' } }
    await reconfigure(documentFor(crm, { source: unwritable }))
    expect(await track('m_1')).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
    // The event is stored anyway.
    await crm.received(1)
    await reconfigure(documentFor(crm, { source: { archive } }))
    expect(await track('m_1')).toMatchObject({ status: 200 })
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      body: { events: 1, deliveries: 1 },
    })
  })

  test('reports unreadable data once per file, and sends the rest', async () => {
    const { archive, track, admin, warnings } = await startArchiving()
    await track('m_1')
    const day = join(archive.directory, 'website', '2026-01-02')
    const [name = ''] = await readdir(day)
    await appendFile(join(day, name), Buffer.of(0x1f, 0x8b, 8))
    const bad = join(day, 'z')
    const archived = { receivedAt: '2026-01-02T03:04:05.678Z' }
    // This row is readable, but it is not a call.
    const track2 = JSON.stringify({ messageId: 'm_2', type: 'track', archived })
    const rows = [track2, '{', '[]']
    await writeFile(bad, rows.join('\n'))
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      status: 200,
      body: { events: 1, deliveries: 2, unreadable: 4 },
    })
    expect(warnings).toMatchObject([
      { path: join(day, name), reason: expect.stringContaining('ends early') as string },
      { path: bad, reason: 'line 2: The row is not valid JSON' },
    ])
  })

  test('refuses unknown names of sources and destinations', async () => {
    const { crm, admin, reconfigure, archive } = await startArchiving()
    const sources = [
      { id: 'website', writeKeys: ['wk_example'], archive },
      { id: 'app', writeKeys: ['wk_app'] },
    ]
    await reconfigure(documentFor(crm, { sources }))
    const refusedAs = (status: number, message: string) => ({
      status,
      body: { error: { message: expect.stringContaining(message) as string } },
    })
    expect(await admin('/v1/replay', { source: 'wbsite' })).toMatchObject(
      refusedAs(404, 'no such source: choose from website, app'),
    )
    expect(await admin('/v1/replay', { destination: 'cmr' })).toMatchObject(
      refusedAs(404, 'no such destination: choose from crm'),
    )
    expect(await admin('/v1/replay', { source: 'app' })).toMatchObject(
      refusedAs(409, 'No selected source has an archive'),
    )
  })

  test('runs one at a time, and ends when its client disconnects', async () => {
    const { opened, open } = gate()
    const limited = { limits: { backlogMax: 4 } }
    const plan = { status: 200, after: opened }
    const { service, track, admin, clock, infos } = await startArchiving(limited, plan)
    for (const messageId of ['m_1', 'm_2']) await track(messageId)
    const leave = new AbortController()
    const response = request(`${service.address.admin ?? ''}/v1/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: '{"all":true}',
      signal: leave.signal,
    })
    response.catch(() => undefined)
    // The replay waits for room.
    const began = { message: 'a replay began', source: null, destination: null }
    await expect.poll(() => infos).toEqual([began])
    const again = () => admin('/v1/replay', { source: 'website', destination: 'crm' })
    expect(await again()).toMatchObject({
      status: 409,
      body: { error: { code: 'replay_running' } },
    })
    leave.abort()
    const nothing = { complete: false, events: 0, deliveries: 0, unreadable: 0 }
    const ended = { ...began, message: 'a replay ended', ...nothing }
    await expect.poll(() => infos).toEqual([began, ended])
    const last = again()
    await expect.poll(() => infos).toHaveLength(3)
    const closed = service.close(60_000)
    expect(await last).toMatchObject({ status: 503, body: { error: { code: 'service_closing' } } })
    open()
    await closed
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('ends when users are deleted, and restores none of them', async () => {
    const { opened, open } = gate()
    const limited = { limits: { backlogMax: 4 } }
    const plan = { status: 200, after: opened }
    const { track, admin, infos, clock, crm } = await startArchiving(limited, plan)
    for (const messageId of ['m_1', 'm_2']) await track(messageId, undefined, { userId: 'u_gone' })
    // The replay has begun, and waits for room.
    const replay = admin('/v1/replay', { all: true })
    await expect.poll(() => infos).toHaveLength(1)
    const regulation = { regulationType: 'DELETE_INTERNAL', subjectIds: ['u_gone'] }
    expect(await admin('/v1/regulations', regulation)).toMatchObject({ status: 200 })
    expect(await replay).toMatchObject({
      status: 409,
      body: { error: { code: 'deletion_running' } },
    })
    open()
    await crm.received(2)
    await expect.poll(() => infos.map(({ message }) => message)).toContain('a replay ended')
    const again = async () => ((await admin('/v1/replay', { all: true })) as { body: object }).body
    await expect
      .poll(async () => {
        await clock.advance(1_000)
        return again()
      })
      .toMatchObject({ kind: 'replay', events: 0 })
    expect(messageIds(crm)).toHaveLength(2)
  })

  test('can be cancelled while it reads events it does not select', async () => {
    const directory = join(await temporaryFolder(), 'archive')
    const day = join(directory, 'website', '2026-01-02')
    await mkdir(day, { recursive: true })
    await writeFile(join(day, 'a'), '{"type":"page","archived":{"receivedAt":"2026-01-02"}}\n')
    const document = documentFor(await TestEndpoint.start(), { source: { archive: { directory } } })
    const configuration = await configurationOf(document, directory)
    let isHeld = false
    const replay = new ArchiveReplay({
      configuration: () => configuration,
      add: () => Promise.reject(new Error('There is nothing to add')),
      hasRoom: () => Promise.resolve(true),
      isHeld: () => isHeld,
      runtime: recordingRuntime(manualClock()).runtime,
      ending: new AbortController().signal,
    })
    const counts = { events: 0, deliveries: 0, unreadable: 0 }
    const wanted = { types: ['track'] } as const
    const { signal } = new AbortController()
    expect(await replay.run(wanted, signal)).toEqual({ kind: 'replayed', ...counts })
    expect(await replay.run(wanted, AbortSignal.abort())).toEqual({ kind: 'ended', ...counts })
    isHeld = true
    expect(await replay.run(wanted, signal)).toEqual({ kind: 'deletion', ...counts })
  })

  test('ends before it adds events of a user whom another process deleted after the replay began', async () => {
    const directory = join(await temporaryFolder(), 'archive')
    const day = join(directory, 'website', '2026-01-02')
    await mkdir(day, { recursive: true })
    const row = { type: 'track', event: 'E', userId: 'u_1', archived: { receivedAt: '2026-01-02' } }
    await writeFile(join(day, 'a'), `${JSON.stringify(row)}\n`)
    const document = documentFor(await TestEndpoint.start(), { source: { archive: { directory } } })
    const configuration = await configurationOf(document, directory)
    let looks = 0
    const replay: ArchiveReplay = new ArchiveReplay({
      configuration: () => configuration,
      add: () => Promise.reject(new Error('It is added')),
      hasRoom: () => Promise.resolve(true),
      isHeld: () => false,
      look: () => {
        if (++looks === 2) void replay.end()
        return Promise.resolve()
      },
      runtime: recordingRuntime(manualClock()).runtime,
      ending: new AbortController().signal,
    })
    const outcome = await replay.run({}, new AbortController().signal)
    expect(outcome).toMatchObject({ kind: 'deletion', events: 0 })
  })
})
