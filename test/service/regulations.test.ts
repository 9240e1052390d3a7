import { createHmac } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { RegulationType } from '../../src/model/index.ts'
import { gate } from '../support/gate.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { documentFor, secret, startService, writeKey } from './running-service.ts'

/** A user whose id appears nowhere else. */
const userId = 'u_who-wants-to-be-forgotten'

/** The content of all files below a folder, archives inflated, one text per file. */
async function filesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const texts = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const bytes = await readFile(join(parentPath, name))
        const isCompressed = name.endsWith('.gz')
        return [name, (isCompressed ? gunzipSync(bytes) : bytes).toString('latin1')] as const
      }),
  )
  return new Map(texts)
}

function occurrences(text: string, of: string): number {
  return text.split(of).length - 1
}

type Running = Awaited<ReturnType<typeof startService>>

async function regulate(
  running: Running,
  regulationType: RegulationType,
  sources?: readonly string[],
): Promise<string> {
  const { status, body } = await running.admin('/v1/regulations', {
    regulationType,
    subjectIds: [userId],
    ...(sources === undefined ? {} : { sources }),
  })
  expect(status).toBe(200)
  return (body as { readonly id: string }).id
}

/** The state of a regulation once it is finished. */
async function finished(running: Running, id: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { body } = await running.admin(`/v1/regulations/${id}`)
    const regulation = body as Record<string, unknown>
    if (regulation['finishedAt'] !== null) return regulation
  }
}

describe('a regulation', () => {
  test('arrives only as a signed delete notification', async () => {
    const endpoint = await TestEndpoint.start(200)
    const running = await startService(documentFor(endpoint))
    const regulation = await finished(running, await regulate(running, 'DELETE_ONLY'))
    const [request] = endpoint.requests
    const body = JSON.parse(request?.body.toString() ?? '') as Record<string, unknown>
    expect(Object.keys(body)).toEqual(['type', 'userId', 'timestamp'])
    expect(body).toMatchObject({ type: 'delete', userId, timestamp: regulation['createdAt'] })
    const signature = createHmac('sha1', secret).update(request?.body ?? '')
    expect(request?.headers['x-signature']).toBe(signature.digest('hex'))
    expect(endpoint.requests).toHaveLength(1)
    expect(regulation).toMatchObject({
      overallStatus: 'FINISHED',
      streamStatus: [
        { id: 'website', destinationStatus: [{ id: 'crm', status: 'FINISHED', delivered: 1 }] },
      ],
    })
  })

  test('notifies for every affected source, or only for the named ones', async () => {
    const endpoint = await TestEndpoint.start(200)
    const document = documentFor(endpoint, {
      sources: ['website', 'mobile', 'unused'].map((id) => ({ id, writeKeys: [`wk_${id}`] })),
      destination: { sources: ['website', 'mobile'] },
      others: [
        { id: 'off', enabled: false },
        { id: 'mail', enabled: true },
      ].map((one) => ({
        ...one,
        type: 'Webhooks',
        sources: ['mobile'],
        endpoints: [{ url: `${endpoint.url}/${one.id}` }],
      })),
    })
    const running = await startService(document)
    await finished(running, await regulate(running, 'DELETE_ONLY'))
    const paths = endpoint.requests.map(({ path }) => path).sort()
    expect(paths).toEqual(['/hook', '/hook', '/hook/mail'])
    endpoint.requests.length = 0
    await finished(running, await regulate(running, 'DELETE_ONLY', ['website']))
    expect(endpoint.requests.map(({ path }) => path)).toEqual(['/hook'])
    endpoint.requests.length = 0
    const { streamStatus } = await finished(running, await regulate(running, 'DELETE_INTERNAL'))
    expect([streamStatus, endpoint.requests]).toEqual([[], []])
  })

  test('drops later calls, which are answered as usual, until the users are unsuppressed', async () => {
    const endpoint = await TestEndpoint.start(200)
    const running = await startService(documentFor(endpoint))
    await finished(running, await regulate(running, 'SUPPRESS_ONLY'))
    const answered = await running.track('m_1', writeKey, { userId })
    expect(answered).toMatchObject({ status: 200, body: { success: true } })
    await running.track('m_2')
    await endpoint.received(1)
    await finished(running, await regulate(running, 'UNSUPPRESS'))
    await running.track('m_3', writeKey, { userId })
    await endpoint.received(2)
    expect(endpoint.bodies).toMatchObject([{ messageId: 'm_2' }, { messageId: 'm_3' }])
    expect((await running.admin('/v1/ledger')).body).toMatchObject({ accepted: 3, suppressed: 1 })
  })

  test('removes the user from every file, and nothing of other users', async () => {
    const isOpen = gate()
    const endpoint = await TestEndpoint.start(({ body }) => {
      const isDeletion = body.includes('"delete"')
      return isDeletion
        ? { status: 200, after: isOpen.opened }
        : { status: 503, body: String(body) }
    })
    const running = await startService(
      documentFor(endpoint, {
        store: 'sqlite:./evroute.db',
        source: { archive: { directory: './archive' } },
      }),
    )
    const properties = { email: 'somebody-to-forget@example.com' }
    // Fewer than open a breaker.
    for (let index = 0; index < 4; index++) {
      await running.track(`m_${index}`, writeKey, { userId, properties })
      await running.track(`other_${index}`, writeKey, { properties: { index } })
    }
    await endpoint.received(8)
    const id = await regulate(running, 'SUPPRESS_WITH_DELETE')
    await running.track('m_late', writeKey, { userId, properties })
    isOpen.open()
    const regulation = await finished(running, id)
    expect(regulation).toMatchObject({
      overallStatus: 'FINISHED',
      erased: { pending: 4, settled: 0 },
      archive: { events: 4, files: 1, problems: [] },
    })
    const files = await filesOf(running.folder)
    expect([...files.keys()].some((name) => name.endsWith('.gz'))).toBe(true)
    const found = [...files].flatMap(([name, text]) => {
      const known = text.includes(properties.email) ? [`${name} has the email`] : []
      return [...known, ...(text.includes(userId) ? [name] : [])]
    })
    // Only the regulation's subject and the entry that suppresses the user remain.
    expect(found).toEqual(['evroute.db'])
    expect(occurrences(files.get('evroute.db') ?? '', userId)).toBeLessThanOrEqual(2)
    const archived = [...files].find(([name]) => name.endsWith('.gz'))?.[1] ?? ''
    expect(occurrences(archived, '"other_')).toBe(4)
    expect((await running.admin('/v1/audit')).body).toMatchObject({ balanced: true })
    const states = await running.admin('/v1/deliveries?state=failed&limit=100')
    const { deliveries } = states.body as { readonly deliveries: readonly object[] }
    expect(deliveries).toHaveLength(4)
    expect(deliveries[0]).toMatchObject({ reason: 'erased', userId: null })
  })

  test('is resumed by the next service after a service ended', async () => {
    const endpoint = await TestEndpoint.start([503, 200])
    const document = documentFor(endpoint, { store: 'sqlite:./evroute.db' })
    const running = await startService(document)
    const id = await regulate(running, 'DELETE_ONLY')
    await endpoint.received(1)
    await running.service.close()
    const again = await startService(document, undefined, running.folder)
    expect((await again.admin(`/v1/regulations/${id}`)).body).toMatchObject({
      overallStatus: expect.stringMatching(/^(INITIALIZED|RUNNING)$/) as string,
    })
    await again.admin('/v1/deliveries/retry', { all: true })
    expect(await finished(again, id)).toMatchObject({ overallStatus: 'FINISHED' })
  })
})
