import { expect, test } from 'vitest'
import { openPage, startReceiver, withBrowser } from './browser.ts'

withBrowser()

const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

test('the list is filtered by a match, and says where one cannot be read', async () => {
  const { url, send } = await startReceiver()
  await send(paid)
  await send({ type: 'page', userId: 'u_1' })
  const page = await openPage(url)
  const filter = page.getByRole('searchbox', { name: 'Filter' })
  await filter.fill('type:pge')
  await filter.press('Enter')
  expect(await page.getByRole('alert').innerText()).toMatch(/type:pge[^]*Did you mean page\?/)
  expect(await page.getByRole('option').count()).toBe(2)
  await filter.fill('type:page')
  await filter.press('Enter')
  await expect.poll(() => page.getByRole('option').count()).toBe(1)
  await page.getByText('1 of 2 requests').waitFor()
  await send({ type: 'page', userId: 'u_2' })
  await send(paid)
  await expect.poll(() => page.getByRole('option').count()).toBe(2)
  await page.getByText('2 of 4 requests').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await filter.fill('')
  await filter.press('Enter')
  await expect.poll(() => page.getByRole('option').count()).toBe(4)
  expect(await page.getByText('of 4 requests').count()).toBe(0)
})

test('the list follows the filter while it is typed', async () => {
  const { url, send } = await startReceiver()
  await send(paid)
  await send({ type: 'page', userId: 'u_1' })
  const page = await openPage(url)
  const rows = page.getByRole('option')
  const filter = page.getByRole('searchbox', { name: 'Filter' })
  await filter.fill('type:page')
  await page.getByText('1 of 2 requests').waitFor()
  await filter.fill('type:pa')
  await page.getByText('Not applied. Press Enter to see why.').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await rows.count()).toBe(1)
  await filter.press('Enter')
  const problem = page.getByRole('alert')
  expect(await problem.innerText()).toMatch(/The list still shows type:page/)
  await filter.fill('')
  await expect.poll(() => rows.count()).toBe(2)
  expect(await problem.count()).toBe(0)
  await filter.pressSequentially('type:group ')
  await page.getByText('No request matches').waitFor()
  expect(await filter.inputValue()).toBe('type:group ')
  await filter.fill('')
  await expect.poll(() => rows.count()).toBe(2)
})

test('the filter finds the texts of payloads and the words of rows, as they are shown', async () => {
  const { url, send, post } = await startReceiver()
  await send({ ...paid, messageId: 'm_77', properties: { coupon: 'SPRING' } })
  await send({ type: 'page', userId: 'u_2', name: 'Pricing' })
  await post(JSON.stringify({ ...paid, version: 1 }), { 'x-signature': 'x' })
  await post('{"no json')
  const page = await openPage(url)
  const rows = page.getByRole('option')
  await expect.poll(() => rows.count()).toBe(4)
  const filter = page.getByRole('searchbox', { name: 'Filter' })
  const shownWords = (selector: string): Promise<readonly string[]> =>
    page.locator(selector).allInnerTexts()
  expect(await shownWords('.row .type')).toEqual(['NO WEBHOOK', 'TRACK', 'PAGE', 'TRACK'])
  for (const [text, numbers] of [
    ['spring', ['#1']],
    ['COUPON', ['#1']],
    ['m_77', ['#1']],
    ['"Order Paid"', ['#3', '#1']],
    ['TRACK wrong', ['#3']],
    ['type:PAGE', ['#2']],
    ['sig:Wrong', ['#3']],
    ['NO WEBHOOK', ['#4']],
    ['400', ['#4']],
  ] as const) {
    await filter.fill(text)
    await filter.press('Enter')
    await expect.poll(() => shownWords('.row .seq')).toEqual(numbers)
  }
})

test('the list shows only failures, pauses, and is cleared and shown again', async () => {
  const { url, send, post } = await startReceiver()
  await send(paid)
  await post('{"no json', {})
  const page = await openPage(url)
  const rows = page.getByRole('option')
  await expect.poll(() => rows.count()).toBe(2)
  const clear = page.getByRole('button', { name: 'Clear' })
  const place = await clear.boundingBox()
  await page.getByRole('button', { name: 'Only failures' }).click()
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByText('1 of 2 requests').waitFor()
  expect(await clear.boundingBox()).toEqual(place)
  await page.getByRole('button', { name: 'Only failures' }).click()
  await page.getByText('Live').waitFor()
  await page.getByRole('button', { name: 'Pause', pressed: false }).click()
  await page.getByText('Paused').waitFor()
  await send(paid)
  await page.getByText('1 new').waitFor()
  expect(await clear.boundingBox()).toEqual(place)
  expect(await rows.count()).toBe(2)
  await page.getByRole('button', { name: 'Pause', pressed: true }).click()
  await page.getByText('Live').waitFor()
  await expect.poll(() => rows.count()).toBe(3)
  await clear.click()
  await expect.poll(() => rows.count()).toBe(0)
  await send(paid)
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => rows.count()).toBe(4)
})

test('the list shows a crowd up to its last request', async () => {
  const { url, send } = await startReceiver()
  const page = await openPage(url)
  await page.getByText('Waiting for webhooks').waitFor()
  await Promise.all(Array.from({ length: 400 }, () => send(paid)))
  const newest = page.getByRole('option').first()
  await expect.poll(() => newest.innerText()).toMatch(/track[^]*#400\b/i)
  expect(await newest.getAttribute('aria-setsize')).toBe('400')
})

test('the list says of a crowd what the receiver no longer keeps, and shows which of it failed', async () => {
  const { url, send, post } = await startReceiver({ eventsMax: 100 })
  await post(JSON.stringify(paid), { 'x-signature': 'wrong' })
  for (let index = 0; index < 99; index++) await send(paid)
  const page = await openPage(url, { expected: /404/ })
  const rows = page.getByRole('option')
  await rows.first().waitFor()
  await page.getByRole('button', { name: 'Only failures' }).click()
  await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringMatching(/✗ wrong/)])
  await page.reload()
  await rows.first().waitFor()
  for (let index = 0; index < 60; index++) await send(paid)
  await page.getByRole('listbox').press('ArrowDown')
  await page.keyboard.press('End')
  await page.getByText('The receiver no longer keeps this request.').waitFor()
  await page.getByText('The receiver no longer keeps 60 older requests (1 failed)').waitFor()
  await expect.poll(() => rows.last().innerText()).toMatch(/#61\b/)
  await expect.poll(() => page.getByText('Reading…').count()).toBe(0)
})
