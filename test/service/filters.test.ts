import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'
import { documentFor, startService } from './running-service.ts'

/** The destination `crm` accepts expensive orders, and `mail` accepts everything. */
async function startFiltered(filter: string | null) {
  const [crm, mail] = [await TestEndpoint.start(), await TestEndpoint.start()]
  const others = [
    { id: 'mail', type: 'Webhooks', sources: ['website'], endpoints: [{ url: mail.url }] },
  ]
  const withFilter = (text: string | null, more = others): object =>
    documentFor(crm, { destination: { filter: text }, others: more })
  return { crm, mail, withFilter, running: await startService(withFilter(filter)) }
}

const expensive = 'type:track event:Order* properties.revenue:>10'
const dear = { properties: { revenue: 39.95 } }
const cheap = { properties: { revenue: 5 } }

describe('a destination with a filter', () => {
  test('gets only the calls that match, while a destination without a filter gets all', async () => {
    const { crm, mail, running } = await startFiltered(expensive)
    await running.track('m_1', undefined, cheap)
    await running.track('m_2', undefined, dear)
    await mail.received(2)
    await crm.received(1)
    expect(crm.bodies).toMatchObject([{ messageId: 'm_2' }])
    await expect.poll(() => running.settled).toHaveLength(3)
    expect((await running.admin('/v1/destinations')).body).toMatchObject({
      destinations: [
        { id: 'crm', filter: expensive, delivered: 1 },
        { id: 'mail', delivered: 2 },
      ],
    })
    expect((await running.admin('/v1/audit')).body).toMatchObject({ balanced: true })
  })

  test('counts a call that no destination accepts as filtered', async () => {
    const { withFilter, running } = await startFiltered(null)
    await running.reconfigure(withFilter(expensive, []))
    await running.track('m_1', undefined, cheap)
    await running.track('m_2', undefined, dear)
    await expect.poll(() => running.settled).toHaveLength(1)
    expect((await running.admin('/v1/audit')).body).toMatchObject({
      balanced: true,
      ledger: { accepted: 2, routed: 1, filtered: 1 },
    })
  })

  test('applies a changed filter at once', async () => {
    const { crm, withFilter, running } = await startFiltered(expensive)
    await running.track('m_1', undefined, cheap)
    expect(await running.reconfigure(withFilter('properties.revenue:<10'))).toEqual([
      { setting: 'destinations.crm.filter', kind: 'changed', effect: 'at_once' },
    ])
    expect(await running.reconfigure(withFilter('properties.revenue:<10 '))).toEqual([])
    await running.track('m_2', undefined, dear)
    await running.track('m_3', undefined, cheap)
    await running.reconfigure(withFilter(null))
    await running.track('m_4', undefined, dear)
    await crm.received(2)
    const ids = crm.bodies.map((body) => (body as { messageId: string }).messageId)
    expect(ids.toSorted()).toEqual(['m_3', 'm_4'])
  })

  test('gets every deletion and every test event', async () => {
    const { crm, mail, running } = await startFiltered(expensive)
    const regulation = { regulationType: 'DELETE_ONLY', subjectIds: ['u_1'] }
    expect(await running.admin('/v1/regulations', regulation)).toMatchObject({ status: 200 })
    await crm.received(1)
    await mail.received(1)
    expect(crm.bodies).toMatchObject([{ type: 'delete', userId: 'u_1' }])
    expect(await running.admin('/v1/destinations/crm/test', {})).toMatchObject({ status: 200 })
    await crm.received(2)
  })
})
