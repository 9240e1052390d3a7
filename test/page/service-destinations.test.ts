import { expect, test } from 'vitest'
import { unreachableUrl } from '../support/free-port.ts'
import { accessibilityFaults, openPage, withBrowser } from './browser.ts'
import { afterRefresh, goTo, openService, startService } from './service.ts'

withBrowser()

test('destinations are shown with their endpoints, retried after a confirmation, and lead to deliveries', async () => {
  const { page, endpoint, settled } = await openService()
  await goTo(page, 'Destinations')
  const crm = page.getByRole('region', { name: 'Destination crm' })
  await expect.poll(() => crm.innerText()).toMatch(/0 pending, 1 delivered, 1 failed/)
  expect(await crm.innerText()).toContain('✓ in use')
  // Its path may be a secret.
  expect(await crm.innerText()).toMatch(/\/…#\w{6}/)
  await crm.getByRole('button', { name: 'Discard backlog' }).click()
  await page.getByText('There is nothing to discard.').waitFor()
  await crm.getByRole('button', { name: 'Retry failed' }).click()
  await page.getByRole('heading', { name: 'Retry 1 delivery to crm?' }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Cancel' }).click()
  expect(endpoint.requests).toHaveLength(2)
  await crm.getByRole('button', { name: 'Retry failed' }).click()
  await page.getByRole('button', { name: 'Retry', exact: true }).click()
  await page.getByText('Retrying 1 delivery.').waitFor()
  await expect.poll(() => settled.length).toBe(3)
  await goTo(page, 'Overview')
  await page.getByText('Retrying 1 delivery.').waitFor({ state: 'detached' })
  await goTo(page, 'Destinations')
  await expect.poll(() => crm.innerText(), afterRefresh).toMatch(/0 pending, 2 delivered, 0 failed/)
})

test('destinations with problems come first, and show them', async () => {
  const endpoints = [{ url: await unreachableUrl() }]
  const others = [{ id: 'mail', type: 'Webhooks', sources: ['website'], endpoints }]
  const { track, link, warnings } = await startService([200], { others })
  for (let count = 0; count < 12; count += 1) await track(`m_${count}`)
  await expect.poll(() => JSON.stringify(warnings)).toContain('an endpoint is down')
  const page = await openPage(link())
  await goTo(page, 'Destinations')
  const shown = page.getByRole('region', { name: /^Destination / })
  await shown.first().waitFor()
  const [first, second] = await shown.allInnerTexts()
  expect(first).toMatch(/^mail\b[^]*is down: connection refused[^]*Next probe/)
  expect(first).not.toContain('mail: ')
  expect(second).toMatch(/^crm\b/)
  expect(second).not.toContain('✗')
})

test('destinations show their filter, their rate, and how long the backlog takes at that rate', async () => {
  const { document, endpoint, reconfigure, track, settled, link } = await startService([200])
  const crm = { id: 'crm', type: 'Webhooks', sources: ['website'], filter: 'event:"Order *"' }
  const endpoints = [{ url: endpoint.url, rate: '1/m' }]
  await reconfigure({ ...document, destinations: [{ ...crm, endpoints }] })
  for (const messageId of ['m_1', 'm_2', 'm_3']) await track(messageId)
  await expect.poll(() => settled.length).toBe(1)
  const page = await openPage(link())
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await goTo(page, 'Destinations')
  const shown = page.getByRole('region', { name: 'Destination crm' })
  await shown.getByText('event:"Order *"').waitFor()
  await expect
    .poll(() => shown.innerText(), afterRefresh)
    .toContain('at most 1/m: 2 pending deliveries take at least 2 min')
})

test('destinations get a test event, are disabled and enabled again, each after a confirmation', async () => {
  const { page, endpoint, track } = await openService()
  await goTo(page, 'Destinations')
  const crm = page.getByRole('region', { name: 'Destination crm' })
  const confirm = async (name: string, consequence: RegExp): Promise<void> => {
    await crm.getByRole('button', { name }).click()
    await page.getByRole('dialog').getByText(consequence).waitFor()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: name.split(' ')[0]! })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await confirm(
    'Send test event',
    /signed and counted like other events\. No delivery is waiting\./,
  )
  await page.getByText('Sent a test event to crm.').waitFor()
  await page.getByRole('cell', { name: 'u_sample' }).waitFor()
  await expect.poll(() => endpoint.requests.length).toBe(3)
  expect(endpoint.bodies[2]).toMatchObject({ type: 'track', userId: 'u_sample' })
  await goTo(page, 'Destinations')
  await confirm(
    'Disable',
    /No delivery is waiting\. Events that arrive while it is disabled are never sent to it\./,
  )
  await crm.getByText('– disabled').waitFor()
  expect(await crm.getByRole('button', { name: 'Send test event' }).isDisabled()).toBe(true)
  await track('m_off')
  await confirm('Enable', /No delivery is waiting\. Later events are sent to it\./)
  await crm.getByText('✓ enabled').waitFor()
  await track('m_on')
  await expect.poll(() => endpoint.requests.length).toBe(4)
  expect(endpoint.bodies[3]).toMatchObject({ messageId: 'm_on' })
  expect(await accessibilityFaults(page)).toEqual([])
})

test('destinations are searched as you type, and the address contains the search', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `shop-${index}`)
  const others = names.map((id) => ({
    id,
    type: 'Webhooks',
    sources: ['website'],
    endpoints: [{ url: `http://127.0.0.1/${id}` }],
  }))
  const { link } = await startService([200], { others })
  const page = await openPage(link())
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.goto(page.url().replace(/#.*|$/, '#/destinations'))
  const shown = page.getByRole('region', { name: /^Destination / })
  await page.getByRole('status').getByText('101 destinations', { exact: true }).waitFor()
  expect(await shown.count()).toBe(50)
  await page.getByRole('button', { name: 'Show all 101' }).click()
  await expect.poll(() => shown.count()).toBe(101)
  await page.keyboard.press('/')
  await page.keyboard.type('SHOP-9')
  await page.getByText('11 of 101 destinations').waitFor()
  expect(await shown.count()).toBe(11)
  expect(page.url()).toContain('#/destinations?search=SHOP-9')
  await page.reload()
  await page.getByText('11 of 101 destinations').waitFor()
  const search = page.getByRole('searchbox', { name: 'Search' })
  expect(await search.inputValue()).toBe('SHOP-9')
  await shown.first().getByRole('link', { name: 'Deliveries' }).click()
  await page.getByText('No delivery matches.').waitFor()
  await page.goBack()
  await page.getByText('11 of 101 destinations').waitFor()
  await search.fill('no such shop')
  await page.getByText('No destination matches.').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
})

test('destinations show a message if there are none', async () => {
  const { link } = await startService([200], { destinations: [] })
  const page = await openPage(link())
  await page.getByText('Nothing is wrong').waitFor()
  await goTo(page, 'Destinations')
  await page.getByText('No destination is configured').waitFor()
})
