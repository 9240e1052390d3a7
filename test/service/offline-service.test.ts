import { createHmac } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type {
  AudienceRemoveOutcome,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../../src/admin-api/index.ts'
import type { MembershipChange, RejectedRow, SyncListener } from '../../src/audience/index.ts'
import { systemClock } from '../../src/runtime/index.ts'
import { OfflineService } from '../../src/service/index.ts'
import { TestEndpoint, type ReceivedRequest } from '../support/endpoint.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { configurationOf, documentFor, secret, type GivenSettings } from './running-service.ts'

/** Records everything that the listener is called with. */
class RecordingListener implements SyncListener {
  readonly rows: RejectedRow[] = []
  readonly changes: MembershipChange[] = []

  rejected(row: RejectedRow): void {
    this.rows.push(row)
  }

  changed(changes: readonly MembershipChange[]): void {
    this.changes.push(...changes)
  }

  progress(): void {
    // The number of calls depends on how the list is split.
  }
}

/** An offline service with one destination, and helpers to use it. */
async function open(given: GivenSettings = {}) {
  const endpoint = await TestEndpoint.start(200)
  const folder = await temporaryFolder()
  const document = documentFor(endpoint, { store: 'sqlite:./evroute.db', ...given })
  const configuration = await configurationOf(document, folder)
  const { runtime, infos } = recordingRuntime(systemClock)
  const start = () => OfflineService.open({ configuration, runtime })
  const service = await start()
  onTestFinished(() => service.close())
  const listener = new RecordingListener()
  const sync = (
    list: string | AsyncIterable<Uint8Array>,
    request: Partial<AudienceSyncRequest> = {},
  ): Promise<AudienceSyncOutcome> =>
    service.audiences.sync(
      {
        name: 'First Time Shopper',
        key: undefined,
        computationClass: 'audience',
        sourceId: undefined,
        columns: { userIds: [], value: undefined },
        isDryRun: false,
        listener,
        signal: new AbortController().signal,
        ...request,
      },
      typeof list === 'string' ? bytesOf(list) : list,
    )
  const remove = (key: string, isDryRun = false): Promise<AudienceRemoveOutcome> =>
    service.audiences.remove({ key, isDryRun, listener, signal: new AbortController().signal })
  return { endpoint, folder, service, start, sync, remove, listener, infos }
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text))
}

function bodiesOf(requests: readonly ReceivedRequest[]): readonly Record<string, unknown>[] {
  return requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
}

describe('a synced audience', () => {
  test('arrives as signed identify calls, exactly as they were previewed', async () => {
    const { endpoint, service, sync } = await open()
    const outcome = await sync('user_id,email\nu_1,ann@example.com\n')
    await service.idle()
    const [request] = endpoint.requests
    const body = JSON.parse(request?.body.toString() ?? '') as Record<string, unknown>
    const computationId = outcome.kind === 'synced' ? outcome.audience.computationId : ''
    expect(computationId).toMatch(/^aud_[0-9A-Za-z]{27}$/)
    expect(body).toEqual({
      version: 1,
      type: 'identify',
      userId: 'u_1',
      traits: { first_time_shopper: true, email: 'ann@example.com' },
      context: {
        personas: {
          computation_class: 'audience',
          computation_id: computationId,
          computation_key: 'first_time_shopper',
          namespace: 'spa_website',
          space_id: 'spa_website',
        },
      },
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      messageId: expect.any(String) as string,
    })
    expect(Object.keys(body)).toEqual(
      'version type userId traits context timestamp messageId'.split(' '),
    )
    const signature = createHmac('sha1', secret).update(request?.body ?? '')
    expect(request?.headers['x-signature']).toBe(signature.digest('hex'))
  })

  test('sends only changed members, and the ledger balances', async () => {
    const { endpoint, service, sync } = await open()
    await sync('userId\nu_1\nu_2\n')
    await service.idle()
    endpoint.requests.length = 0
    await sync('userId\nu_2\nu_3\n')
    await service.idle()
    const traits = bodiesOf(endpoint.requests).map(({ userId, traits }) => [userId, traits])
    expect(Object.fromEntries(traits)).toEqual({
      u_1: { first_time_shopper: false },
      u_3: { first_time_shopper: true },
    })
    expect(await service.ledger()).toMatchObject({ accepted: 4, routed: 4, delivered: 4 })
  })

  test('compares values if it is a computed trait', async () => {
    const { endpoint, service, sync } = await open()
    const request = { name: 'Total Revenue 180 Days', computationClass: 'trait' } as const
    await sync('userId,value\nu_1,450.00\nu_2,7\n', request)
    await service.idle()
    endpoint.requests.length = 0
    await sync('userId,value\nu_1,451\n', request)
    await service.idle()
    const traits = bodiesOf(endpoint.requests).map(({ userId, traits }) => [userId, traits])
    expect(Object.fromEntries(traits)).toEqual({
      u_1: { total_revenue_180_days: 451 },
      u_2: { total_revenue_180_days: null },
    })
  })

  test('leaves nothing behind after a dry run', async () => {
    const scratch = await temporaryFolder()
    vi.stubEnv('TMPDIR', scratch)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { endpoint, service, sync, listener } = await open()
    await sync('userId\nu_1\n')
    listener.changes.length = 0
    const outcome = await sync('userId\nu_2\n', { isDryRun: true })
    await service.idle()
    expect(outcome).toMatchObject({ kind: 'synced', counts: { entered: 1, left: 1 } })
    expect(listener.changes.map(({ identity, value }) => [identity.userId, value])).toEqual([
      ['u_2', 'true'],
      ['u_1', null],
    ])
    expect(endpoint.requests).toHaveLength(1)
    const members = await service.audiences.members({
      key: 'first_time_shopper',
      limit: 9,
      after: null,
    })
    expect(members.map(({ identity }) => identity.userId)).toEqual(['u_1'])
    expect(readdirSync(scratch).filter((name) => name.includes('preview'))).toEqual([])
  })

  test('cannot be synced twice at the same time', async () => {
    const { sync } = await open()
    let finish = (): void => undefined
    const held = new Promise<void>((resolve) => (finish = resolve))
    const first = sync(
      (async function* () {
        yield Buffer.from('userId\nu_1\n')
        await held
      })(),
    )
    expect(await sync('userId\nu_2\n')).toEqual({ kind: 'running', key: 'first_time_shopper' })
    expect(await sync('userId\nu_2\n', { name: 'Another' })).toMatchObject({ kind: 'synced' })
    finish()
    expect(await first).toMatchObject({ kind: 'synced', counts: { entered: 1 } })
    expect(await sync('userId\nu_2\n')).toMatchObject({ kind: 'synced' })
  })

  test('keeps its property when it is renamed', async () => {
    const { sync, service } = await open()
    await sync('userId\nu_1\n')
    const renamed = { name: 'New shoppers', key: 'first_time_shopper' }
    expect(await sync('userId\nu_1\n', renamed)).toMatchObject({ counts: { unchanged: 1 } })
    expect(await service.audiences.list()).toMatchObject([renamed])
    // A sync by key alone keeps the name.
    await sync('userId\nu_1\n', { name: undefined, key: 'first_time_shopper' })
    expect(await service.audiences.list()).toMatchObject([renamed])
  })

  test('is refused if its name or source is invalid', async () => {
    const other = { id: 'mobile', writeKeys: ['wk_other'] }
    const { sync } = await open({ sources: [{ id: 'website', writeKeys: ['wk_1'] }, other] })
    const unknown = { kind: 'unknown_source', knownIds: ['website', 'mobile'] }
    expect(await sync('userId\nu_1\n')).toEqual(unknown)
    expect(await sync('userId\nu_1\n', { sourceId: 'shop' })).toEqual(unknown)
    expect(await sync('userId\nu_1\n', { name: '!?' })).toMatchObject({ kind: 'unusable_name' })
    expect(await sync('userId\nu_1\n', { sourceId: 'website' })).toMatchObject({ kind: 'synced' })
    // The audience exists by now, so the sync needs no source.
    expect(await sync('userId\nu_1\n')).toMatchObject({ kind: 'synced' })
    expect(await sync('userId\nu_1\n', { sourceId: 'mobile' })).toMatchObject({ kind: 'taken' })
    const trait = sync('userId,value\nu_1,1\n', { computationClass: 'trait' })
    expect(await trait).toMatchObject({ kind: 'taken' })
  })

  test('is logged when it is synced or removed, but not in a dry run', async () => {
    const { sync, remove, infos } = await open({ destinations: [] })
    await sync('id\nu_1\nu_2\n', { isDryRun: true })
    await sync('id\nu_1\nu_2\n')
    await sync('{"id":"u_1"}\nbroken\n')
    const key = 'first_time_shopper'
    await remove(key, true)
    await remove(key)
    await remove(key)
    const fields = { key, class: 'audience' }
    const counts = { entered: 0, changed: 0, left: 0, rejected: 0 }
    const synced = { ...fields, ...counts, message: 'an audience was synced' }
    expect(infos).toEqual([
      { ...synced, outcome: 'synced', entered: 2 },
      { ...synced, outcome: 'incomplete', rejected: 1 },
      { ...fields, message: 'an audience was removed', outcome: 'removed', left: 2 },
    ])
  })

  test("sends every member's leave when it is removed", async () => {
    const { endpoint, service, sync, remove } = await open()
    await sync('userId\nu_1\nu_2\n')
    await service.idle()
    endpoint.requests.length = 0
    const key = 'first_time_shopper'
    expect(await remove(key, true)).toMatchObject({ kind: 'removed', left: 2 })
    expect(await service.audiences.list()).toHaveLength(1)
    expect(await remove(key)).toMatchObject({ kind: 'removed', left: 2 })
    await service.idle()
    expect(await service.audiences.list()).toEqual([])
    expect(bodiesOf(endpoint.requests).map(({ traits }) => traits)).toEqual([
      { first_time_shopper: false },
      { first_time_shopper: false },
    ])
    expect(await remove(key)).toEqual({ kind: 'unknown_audience', knownKeys: [] })
  })
})
