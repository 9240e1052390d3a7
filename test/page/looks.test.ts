import { createHmac } from 'node:crypto'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { faultsOfEveryLook, openPage, secret, startReceiver, withBrowser } from './browser.ts'
import { goTo, openService, startService } from './service.ts'

withBrowser()

/** Wide words, and text that runs from right to left. */
const long = `${'unbreakable'.repeat(30)} \u05e9\u05dc\u05d5\u05dd ${'many words '.repeat(30)}`
const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

async function check(page: Page, state: string): Promise<void> {
  expect(await faultsOfEveryLook(page), state).toEqual([])
}

test('the list of a receiver has no faults in any look or state', async () => {
  const { url, send, receiver } = await startReceiver()
  const page = await openPage(url, { expected: /ERR_|Failed to load/ })
  await page.getByText('Waiting for webhooks').waitFor()
  await check(page, 'empty')
  for (let index = 0; index < 20; index++) await send({ ...paid, userId: `u_${index}` })
  await send({ type: 'track', userId: long, event: long, messageId: 'm_1' })
  await send({ type: 'identify', userId: 'u_1', traits: { [long]: long }, messageId: 'm_1' })
  await page.getByText('same id:').waitFor()
  await check(page, 'overflow')
  const filter = page.getByRole('searchbox', { name: 'Filter' })
  await filter.fill('type:pge')
  await filter.press('Enter')
  await page.getByRole('alert').waitFor()
  await check(page, 'a filter that cannot be read')
  await filter.fill('type:page')
  await filter.press('Enter')
  await page.getByText('No request matches').waitFor()
  await check(page, 'no match')
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('The list is cleared.').waitFor()
  await check(page, 'cleared')
  await receiver.close()
  await page.getByText('Not connected').waitFor()
  await check(page, 'not connected')
})

test('narrow rows shorten neither the type nor the result of forwarding', async () => {
  const forwardTo = [{ type: null, url: await unreachableUrl() }]
  const { url, send, post } = await startReceiver({ forwardTo })
  await post('{"no json')
  for (const userId of ['u_1', 'u_2']) await send({ ...paid, userId, messageId: 'm_1' })
  const page = await openPage(url)
  await page.getByText('same id:').waitFor()
  await page.getByText('→ connection refused').first().waitFor()
  for (const width of [320, 375, 900, 1_024, 1_280]) {
    await page.setViewportSize({ width, height: 720 })
    const cut = await page.evaluate<readonly string[]>(`
      [...document.querySelectorAll('.row :is(.type, .forwarded, .repeat)')].filter((element) => {
        const { right } = element.getBoundingClientRect()
        const isBeyond = right > element.parentElement.getBoundingClientRect().right
        return isBeyond || (element.className !== 'repeat' && element.scrollWidth > element.clientWidth)
      }).map((element) => element.textContent)`)
    expect(cut, `${width} px`).toEqual([])
  }
})

test('on a telephone, the tools of a receiver take one line each', async () => {
  const { url } = await startReceiver()
  const page = await openPage(url, { width: 360 })
  const topsOf = async (names: readonly string[]) => {
    const boxes = names.map((name) => page.getByText(name, { exact: true }).boundingBox())
    return new Set((await Promise.all(boxes)).map((box) => box?.y))
  }
  await page.getByText('Waiting for webhooks').waitFor()
  expect((await topsOf(['Next answer', 'Expectations', 'Compose', 'Keys'])).size).toBe(1)
  expect((await topsOf(['Pause', 'Clear', 'Open capture', 'Save capture'])).size).toBe(1)
})

test('a request of a receiver has no faults in any look or state', async () => {
  const endpoint = await TestEndpoint.start({ status: 500, body: long })
  const { url, send, post, receiver } = await startReceiver({
    forwardTo: [{ type: null, url: endpoint.url }],
  })
  const body = JSON.stringify({ version: 1, ...paid })
  const digest = createHmac('sha256', secret).update(body).digest('hex')
  await send({ ...paid, properties: { [long]: long, deep: { a: { b: [long, { c: 1 }] } } } })
  await post(body, { 'x-signature': digest })
  const page = await openPage(url, { expected: /ERR_|Failed to load/ })
  const reading = gate()
  await page.route('**/_evroute/event?*', async (route) => {
    await reading.opened
    await route.continue()
  })
  await page.getByRole('option').last().click()
  await page.getByText('Reading the request…').waitFor()
  await check(page, 'loading')
  reading.open()
  await page.getByText("Your application's answer").waitFor()
  await page.getByRole('button', { name: 'Resend', exact: true }).hover()
  await check(page, 'forwarded, overflow')
  await page.keyboard.press('k')
  await page.getByRole('note').waitFor()
  await check(page, 'diagnosed')
  await receiver.close()
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await page.getByText('There is no answer').waitFor()
  await check(page, 'failed')
})

test('the colours of the system show which request is selected and which failed', async () => {
  const { url, send, post } = await startReceiver()
  for (let index = 0; index < 2; index++) await send(paid)
  await post('{"no json')
  const page = await openPage(url)
  await page.emulateMedia({ forcedColors: 'active' })
  await page.getByRole('option').nth(1).click()
  await page.getByRole('heading', { name: '#2 ' }).waitFor()
  await page.mouse.move(0, 0)
  const styles = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll('.row')].map((row) => {
      const { outlineStyle, borderLeftColor } = getComputedStyle(row)
      const { backgroundColor } = getComputedStyle(row.closest('.list'))
      return outlineStyle + (borderLeftColor === backgroundColor ? '' : ' bar')
    })`)
  expect(styles).toEqual(['none bar', 'solid bar', 'none'])
  await page.emulateMedia({ forcedColors: 'none' })
})

test('paper shows the whole request, without controls', async () => {
  const { url, send } = await startReceiver()
  const lines = Array.from({ length: 90 }, (_, index) => [`line_${index}`, index] as const)
  await send({ ...paid, properties: Object.fromEntries(lines) })
  const page = await openPage(url)
  await page.getByRole('option').click()
  await page.getByRole('article').waitFor()
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('searchbox', { name: 'Filter' }).isVisible()).toBe(false)
  const [paper, article] = await page.evaluate<readonly [number, number]>(`
    ['html', 'article'].map((name) => document.querySelector(name).scrollHeight)`)
  expect(paper).toBeGreaterThanOrEqual(article)
  await page.emulateMedia({ media: null })
})

test('dialogs and panels of a receiver have no faults in any look', async () => {
  const { url, send, post } = await startReceiver()
  const body = JSON.stringify({ version: 1, ...paid })
  await send({ ...paid, properties: { [long]: long } })
  await post(body, { 'x-signature': createHmac('sha256', secret).update(body).digest('hex') })
  const page = await openPage(url)
  for (const name of ['Next answer', 'Expectations']) {
    await page.getByRole('button', { name }).click()
    await page.getByRole('textbox').last().waitFor()
    await check(page, name)
    await page.getByRole('button', { name }).click()
  }
  await page.getByRole('option').first().click()
  await page.getByRole('button', { name: 'Copy as…' }).click()
  await check(page, 'Copy as…')
  await page.getByRole('button', { name: 'Copy as…' }).click()
  for (const name of ['Show a handler that verifies', 'Edit and resend', 'Compose', 'Keys']) {
    await page.getByRole('button', { name }).click()
    await page.getByRole('dialog').waitFor()
    await check(page, name)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
})

test('every view of a service has no faults in any look', async () => {
  const { page, track } = await openService()
  await track('m_3', undefined, { event: 7 })
  await check(page, 'Overview')
  for (const view of ['Destinations', 'Ledger', 'Sources', 'Audiences', 'Deletions', 'Replay']) {
    await goTo(page, view)
    await page.getByRole('heading', { name: view }).waitFor()
    await check(page, view)
  }
  await goTo(page, 'Deliveries')
  await page.getByRole('row', { name: /m_2/ }).waitFor()
  await check(page, 'Deliveries')
  await page.getByRole('button', { name: 'Retry all that match' }).click()
  await page.getByRole('dialog').waitFor()
  await check(page, 'a confirmation')
  await page.keyboard.press('Escape')
  await page.getByRole('row', { name: /m_2/ }).getByRole('link').click()
  await page.getByRole('article').waitFor()
  await check(page, 'a delivery')
})

test('an empty service, one that loads and one that is gone have no faults in any look', async () => {
  const { link, service } = await startService([200], { destinations: [] })
  const page = await openPage(link(), { expected: /ERR_|Failed to load/ })
  await page.getByText('Nothing is wrong').waitFor()
  await page.getByText('No event has arrived yet.').waitFor()
  await page.getByRole('img', { name: /; peak 0\/s$/ }).waitFor()
  await check(page, 'an empty overview')
  await goTo(page, 'Destinations')
  await page.getByText('No destination is configured').waitFor()
  await check(page, 'no destination')
  await goTo(page, 'Deliveries')
  await page.getByText('No delivery matches.').waitFor()
  await check(page, 'no delivery')
  const reading = gate()
  await page.route('**/v1/sources', async (route) => {
    await reading.opened
    await route.continue()
  })
  await goTo(page, 'Sources')
  await page.getByText('Reading…').waitFor()
  await check(page, 'loading')
  reading.open()
  await page.getByRole('region', { name: 'Source website', exact: true }).waitFor()
  await service.close()
  await goTo(page, 'Audiences')
  await page.getByText('There is no answer. Is evroute still running?').first().waitFor()
  await check(page, 'gone')
})

test('long texts of a service cause no faults in any look', async () => {
  const { track, settled, link } = await startService([{ status: 404, body: long }])
  await track(long.slice(0, 200), undefined, { userId: long.slice(0, 200), event: long })
  await expect.poll(() => settled.length).toBe(1)
  const page = await openPage(link())
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await goTo(page, 'Deliveries')
  await page.getByRole('cell', { name: '✗ failed' }).waitFor()
  const { x, width } = (await page.getByRole('columnheader', { name: 'Reason' }).boundingBox())!
  expect(x + width).toBeLessThanOrEqual(1_280)
  await check(page, 'deliveries')
  await page.getByRole('row').last().getByRole('link').click()
  await page.getByText('Answer', { exact: true }).click()
  await check(page, 'a delivery')
})
