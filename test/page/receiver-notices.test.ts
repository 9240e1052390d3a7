import { describe, expect, test } from 'vitest'
import { openPage, startReceiver, withBrowser } from './browser.ts'

withBrowser()

const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

describe('a notice', () => {
  test('closes after its time, which pauses while the pointer or the focus is on it', async () => {
    const { url, send } = await startReceiver()
    await send(paid)
    const page = await openPage(url, { movesTime: true })
    const notice = page.locator('.notice')
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await notice.getByText('The curl command has been copied.').waitFor()
    await notice.hover()
    await page.clock.runFor(30_000)
    expect(await notice.count()).toBe(1)
    await notice.getByRole('button', { name: 'Dismiss' }).focus()
    await page.mouse.move(0, 0)
    await page.clock.runFor(30_000)
    expect(await notice.count()).toBe(1)
    await page.getByRole('button', { name: 'Copy as curl' }).focus()
    await page.clock.runFor(7_000)
    expect(await notice.count()).toBe(0)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.mouse.move(0, 0)
    await notice.getByRole('button', { name: 'Undo' }).waitFor()
    await page.clock.runFor(15_000)
    expect(await notice.count()).toBe(1)
    await page.clock.runFor(7_000)
    expect(await notice.count()).toBe(0)
  })

  test('closes when it is used, and looks like a failure for a 5xx answer', async () => {
    const { url, send, receiver } = await startReceiver()
    await send(paid)
    receiver.respond(503)
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Resend', exact: true }).click()
    const notice = page.locator('.notice')
    await notice.getByText('the answer is 503').waitFor()
    expect(await notice.getAttribute('class')).toContain('problem')
    await notice.getByRole('button', { name: 'Show #2' }).click()
    await notice.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: '#2' }).waitFor()
  })
})
