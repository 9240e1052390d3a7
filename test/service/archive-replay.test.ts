import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { documentFor, manualClock, startService } from './running-service.ts'

/** A service that archives what `website` sends, with the destinations `crm` and `mail`. */
async function startArchiving(sections: object = {}, plan: 200 | 'hang' = 200) {
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
  test('sends them to one destination again, with integrations of a replay', async () => {
    const { crm, mail, track, admin, settled } = await startArchiving()
    await track('m_1', undefined, { integrations: { All: false } })
    await track('m_2')
    await track('m_2')
    await expect.poll(() => settled).toHaveLength(2)
    expect(await admin('/v1/replay', { source: 'website', destination: 'crm' })).toMatchObject({
      status: 200,
      body: { kind: 'replay', events: 2, deliveries: 2 },
    })
    await expect.poll(() => settled).toHaveLength(4)
    // What went nowhere when it was new goes to the destination now, and the duplicate does not.
    expect(messageIds(crm).toSorted()).toEqual(['m_1', 'm_2', 'm_2'])
    expect(messageIds(mail)).toEqual(['m_2'])
    const [first, again] = crm.bodies.filter((_, index) => messageIds(crm)[index] === 'm_2')
    expect(again).toEqual(first)
    expect(await admin('/v1/audit')).toMatchObject({ body: { balanced: true } })
    // It is what was archived that is replayed, not what was replayed.
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      body: { events: 2, deliveries: 4 },
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
    expect(await replayed({ source: 'app' })).toBe(0)
  })

  test('leaves room for what sources send', async () => {
    const limited = { limits: { pendingDeliveries: 8 } }
    const { track, admin, clock } = await startArchiving(limited, 'hang')
    await track('m_1')
    await track('m_2')
    // Half of the room is taken: it waits until there is more.
    const replay = admin('/v1/replay', { all: true })
    replay.catch(() => undefined)
    await clock.advance(5_000)
    expect(await admin('/v1/ledger')).toMatchObject({ body: { deliveries: 4 } })
    expect(await track('m_3')).toMatchObject({ status: 200 })
  })

  test('is refused where no source has an archive', async () => {
    const { crm, admin, reconfigure, archive } = await startArchiving()
    await reconfigure(documentFor(crm))
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      status: 409,
      body: { error: { code: 'no_archive' } },
    })
    await reconfigure(documentFor(crm, { source: { archive } }))
    expect(await admin('/v1/replay', { all: true })).toMatchObject({ body: { events: 0 } })
  })

  test('has what could not be archived at first, and was not acknowledged', async () => {
    const { crm, archive, track, reconfigure, admin } = await startArchiving()
    const unwritable = { archive: { directory: '/dev/null' } }
    await reconfigure(documentFor(crm, { source: unwritable }))
    expect(await track('m_1')).toMatchObject({ status: 503, body: { code: 'store_unavailable' } })
    // It is stored all the same.
    await crm.received(1)
    await reconfigure(documentFor(crm, { source: { archive } }))
    expect(await track('m_1')).toMatchObject({ status: 200 })
    expect(await admin('/v1/replay', { all: true })).toMatchObject({
      body: { events: 1, deliveries: 1 },
    })
  })
})
