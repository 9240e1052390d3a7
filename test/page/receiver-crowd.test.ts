import { expect, test } from 'vitest'
import { openPage, startReceiver, withBrowser } from './browser.ts'

withBrowser()

const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

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
