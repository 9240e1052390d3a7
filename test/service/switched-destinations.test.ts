import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { documentFor, startService } from './running-service.ts'

const taken = { status: 200 }

describe('a destination that the admin API switches off', () => {
  test('keeps its backlog, and sends it once it is enabled', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start({ status: 200, after: opened })
    const { track, admin, settled } = await startService(documentFor(endpoint))
    const concurrency = 10
    for (let count = 1; count <= 2 * concurrency; count++) await track(`m_${count}`)
    await endpoint.received(concurrency)
    expect(await admin('/v1/destinations/crm/disable', {})).toMatchObject(taken)
    open()
    await expect.poll(() => settled).toHaveLength(concurrency)
    expect(await admin('/v1/ledger')).toMatchObject({ body: { delivered: 10, pending: 10 } })
    expect(endpoint.requests).toHaveLength(concurrency)
    expect(await admin('/v1/destinations/crm/enable', {})).toMatchObject(taken)
    await expect.poll(() => settled).toHaveLength(2 * concurrency)
  })

  test('stays off until its `enabled` changes in the file', async () => {
    const endpoint = await TestEndpoint.start()
    const { reconfigure, admin } = await startService(documentFor(endpoint))
    const isEnabled = async (): Promise<unknown> => {
      const { body } = await admin('/v1/destinations')
      return (body as { destinations: { enabled: boolean }[] }).destinations[0]!.enabled
    }
    await admin('/v1/destinations/crm/disable', {})
    expect(await reconfigure(documentFor(endpoint))).toEqual([])
    expect(await reconfigure(documentFor(endpoint, { destination: { concurrency: 5 } }))).toEqual([
      { setting: 'destinations.crm.concurrency', kind: 'changed', effect: 'at_once' },
    ])
    expect(await isEnabled()).toBe(false)
    await reconfigure(documentFor(endpoint, { destination: { enabled: false } }))
    await reconfigure(documentFor(endpoint))
    expect(await isEnabled()).toBe(true)
    await admin('/v1/destinations/crm/disable', {})
    await reconfigure(documentFor(endpoint, { destination: { id: 'mail' } }))
    await reconfigure(documentFor(endpoint))
    expect(await isEnabled()).toBe(true)
    await reconfigure(documentFor(endpoint, { destination: { enabled: false } }))
    await admin('/v1/destinations/crm/enable', {})
    await reconfigure(documentFor(endpoint, { destination: { enabled: false } }))
    expect(await isEnabled()).toBe(true)
  })
})
