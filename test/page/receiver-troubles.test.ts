import { once } from 'node:events'
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { signBody } from '../../src/webhook/index.ts'
import { gate } from '../support/gate.ts'
import { openPage, startReceiver, withBrowser } from './browser.ts'

withBrowser()

const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

/** Starts a TCP proxy whose connections can be broken off. */
async function startProxy(port: number) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const target = connect(port, '127.0.0.1')
    for (const each of [socket, target]) {
      sockets.add(each)
      each.on('error', () => undefined).on('close', () => sockets.delete(each))
    }
    socket.pipe(target).pipe(socket)
  })
  const breakOff = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    breakOff()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, breakOff }
}

test('a capture that is opened during a pause shows all of its requests, and cannot be cleared', async () => {
  const first = await startReceiver()
  for (let index = 0; index < 3; index++) await first.send(paid)
  const buffer = Buffer.from(await (await fetch(`${first.url}/_evroute/events`)).text())
  const { url, send } = await startReceiver()
  await send(paid)
  const page = await openPage(url)
  const rows = page.getByRole('option')
  await rows.waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused').waitFor()
  const file = { name: 'got.ndjson', mimeType: 'application/x-ndjson', buffer }
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByText('Showing got.ndjson: 3 requests.').waitFor()
  await expect.poll(() => rows.count()).toBe(3)
  await page.getByText('Capture', { exact: true }).waitFor()
  for (const name of ['Pause', 'Clear']) {
    expect(await page.getByRole('button', { name }).isDisabled()).toBe(true)
  }
  await page.keyboard.press('p')
  await page.getByRole('button', { name: 'Back to live' }).click()
  await page.getByText('Live').waitFor()
  await send(paid)
  await expect.poll(() => rows.count()).toBe(2)
})

test('a capture that is read late does not replace the one that was opened after it', async () => {
  const { url } = await startReceiver()
  const page = await openPage(url)
  const reading = gate()
  await page.route(
    '**/actions/read-capture',
    async (route) => {
      await reading.opened
      await route.continue()
    },
    { times: 1 },
  )
  const input = page.locator('input[type=file]')
  const open = (name: string, text: string) =>
    input.setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
  const requested = page.waitForRequest('**/actions/read-capture')
  await open('first.txt', 'a\n')
  const first = await requested
  await open('second.txt', 'b\n')
  await page.getByText('Showing second.txt').waitFor()
  reading.open()
  await (await first.response())?.finished()
  await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
  expect(await page.getByText('Showing first.txt').count()).toBe(0)
})

test('a filter that cannot be checked is not applied', async () => {
  const { url, send } = await startReceiver()
  await send(paid)
  const page = await openPage(url, { expected: /ERR_/ })
  await page.getByText('1 request').waitFor()
  await page.route('**/match?*', (route) => route.abort(), { times: 1 })
  const filter = page.getByRole('searchbox', { name: 'Filter' })
  await filter.fill('type:pge')
  await page.getByText('Not applied. Press Enter to see why.').waitFor()
  await page.getByText('There is no answer. Is evroute still running?').waitFor()
  await page.getByText('Live').waitFor()
  await filter.press('Enter')
  await page.getByText('Did you mean page?').waitFor()
  expect(await page.getByRole('option').count()).toBe(1)
})

test('a filter that could not be checked is applied once the page is connected again', async () => {
  const { port, send } = await startReceiver()
  await send(paid)
  await send({ type: 'page', userId: 'u_1' })
  const { url, breakOff } = await startProxy(port)
  const page = await openPage(url, { expected: /ERR_/ })
  await page.getByText('2 requests').waitFor()
  await page.route('**/match?*', (route) => route.abort(), { times: 1 })
  await page.getByRole('searchbox', { name: 'Filter' }).fill('type:page')
  await page.getByText('There is no answer. Is evroute still running?').waitFor()
  breakOff()
  await page.getByText('1 of 2 requests').waitFor()
})

test('a late answer closes no other dialog', async () => {
  const { url, send } = await startReceiver()
  await send(paid)
  const page = await openPage(url)
  const answer = gate()
  await page.route('**/actions/send', async (route) => {
    await answer.opened
    await route.continue()
  })
  await page.getByRole('button', { name: 'Compose' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('option', { name: 'Order Paid' }).click()
  await page.getByRole('button', { name: 'Edit and resend' }).click()
  answer.open()
  await page.getByText(': the answer is 200').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(1)
})

test('the list stays until the requests that match a new filter arrive', async () => {
  const { url, send } = await startReceiver()
  await send(paid)
  await send({ type: 'page', userId: 'u_1' })
  const page = await openPage(url)
  const rows = page.getByRole('option')
  await expect.poll(() => rows.count()).toBe(2)
  const answer = gate()
  await page.route('**/stream?*match*', async (route) => {
    await answer.opened
    await route.continue()
  })
  const requested = page.waitForRequest(/stream\?.*match/)
  await page.getByRole('searchbox', { name: 'Filter' }).fill('type:page')
  await requested
  expect(await rows.count()).toBe(2)
  expect(await page.getByText('No request matches').count()).toBe(0)
  answer.open()
  await expect.poll(() => rows.count()).toBe(1)
})

test('the page says why the receiver refuses to send its requests, until it does not', async () => {
  const { url } = await startReceiver()
  const others = new AbortController()
  onTestFinished(() => others.abort())
  for (let index = 0; index < 32; index++) {
    await fetch(`${url}/_evroute/stream`, { signal: others.signal })
  }
  const page = await openPage(url, { movesTime: true, expected: /429/ })
  const refusal = page.getByText('Cannot open a stream: 32 are already open. Close a page')
  await refusal.waitFor()
  await page.getByText('Not connected').waitFor()
  others.abort()
  await expect
    .poll(async () => {
      await page.clock.runFor(3_000)
      return page.getByText('Live').count()
    })
    .toBe(1)
  expect(await refusal.count()).toBe(0)
})

test('a request that could not be sent stays in its form, below the notice that says why', async () => {
  const { url, send, receiver } = await startReceiver()
  await send(paid)
  const page = await openPage(url, { expected: /ERR_|Failed to load/ })
  await page.getByRole('option').click()
  await page.getByRole('button', { name: 'Edit and resend' }).click()
  const body = page.getByRole('textbox', { name: 'Body' })
  await body.fill('{"mine":1}')
  await receiver.close()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const notice = page.locator('.notice')
  await notice.getByText('There is no answer').waitFor()
  expect(await body.inputValue()).toBe('{"mine":1}')
  // A screenshot of the notice differs if the backdrop of the dialog is above it.
  const text = notice.getByText('There is no answer')
  const covered = await text.screenshot()
  await page.getByRole('button', { name: 'Cancel' }).click()
  expect(covered.equals(await text.screenshot())).toBe(true)
})

test('answers that are slower than the webhooks are shown', async () => {
  const { url, send, receiver } = await startReceiver()
  receiver.respond('503,200')
  const page = await openPage(url)
  await page.getByText('Live').waitFor()
  const [first, second] = [gate(), gate()]
  const waiting = [first, second]
  await page.route('**/plan', async (route) => {
    await waiting.shift()?.opened
    await route.continue()
  })
  await page.getByRole('button', { name: 'Next answer' }).click()
  const requested = page.waitForRequest('**/plan')
  await send(paid)
  await page.getByText('1 request').waitFor()
  await requested
  first.open()
  await page.getByText('503,200 (1 given)').waitFor()
  second.open()
})

test('the dialog for a new webhook takes the focus, and keeps it when the type changes', async () => {
  const { url } = await startReceiver()
  const page = await openPage(url)
  await page.getByRole('button', { name: 'Compose' }).press('Enter')
  const focused = page.locator('select:focus')
  await focused.waitFor()
  await page.keyboard.press('ArrowDown')
  await expect
    .poll(() => page.getByRole('textbox', { name: 'Body' }).inputValue())
    .toContain('"type": "page"')
  expect(await focused.count()).toBe(1)
})

test('only one panel of the toolbar is open', async () => {
  const { url } = await startReceiver()
  const page = await openPage(url)
  for (const name of ['Next answer', 'Expectations', 'Next answer']) {
    await page.getByRole('button', { name }).click()
    expect(await page.locator('.panel:visible').count()).toBe(1)
    expect(await page.getByRole('button', { name }).getAttribute('aria-expanded')).toBe('true')
  }
})

test('rows that could not be read are read again once the page is connected again', async () => {
  const { port, send } = await startReceiver()
  for (let index = 0; index < 60; index++) await send(paid)
  const { url, breakOff } = await startProxy(port)
  const page = await openPage(url, { expected: /ERR_/ })
  await page.getByText('60 requests').waitFor()
  await page.route('**/summaries?*', (route) => route.abort(), { times: 1 })
  await page.evaluate(`document.querySelector('.list').scrollTo(0, 1e6)`)
  await page.getByText('There is no answer. Is evroute still running?').waitFor()
  const oldest = page.getByRole('option').last()
  expect(await oldest.innerText()).toContain('Reading…')
  breakOff()
  await expect.poll(() => oldest.innerText()).toContain('Order Paid')
})

test('a request that the receiver has dropped is signed and resent', async () => {
  const { url, send, post, receiver } = await startReceiver({ eventsMax: 1 })
  const body = JSON.stringify(paid)
  await post(body, { 'x-signature': signBody(body, 'another') })
  const page = await openPage(url)
  await page.getByRole('option').click()
  // The last part that the page reads of a request. The receiver cannot answer it once it has dropped the request.
  await page.getByText('There is no earlier event to compare with.').waitFor()
  await send({ type: 'page', userId: 'u_1' })
  await page.getByRole('button', { name: 'Sign and resend' }).click()
  await page.getByText('Signed and resent #1: the answer is 200. Signature ✓ valid.').waitFor()
  expect(receiver.events[0]?.rawBody.toString()).toBe(body)
})

test('of a payload with many nested members, only some are open', async () => {
  const wide = (count: number, member: unknown): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, member]))
  const { url, send } = await startReceiver()
  await send({ ...paid, properties: wide(100, wide(100, wide(10, 0))) })
  const page = await openPage(url)
  await page.getByRole('option').click()
  await page.getByRole('article').waitFor()
  expect(await page.locator('article *').count()).toBeLessThan(2_000)
})

test('seven tabs of a browser work, because hidden ones end their streams', async () => {
  const { url, send } = await startReceiver()
  const first = await openPage(url)
  const hide = (page: Page, hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
  const tabs = [first]
  onTestFinished(async () => {
    for (const tab of tabs.slice(1)) await tab.close()
  })
  for (let count = 1; count < 7; count++) {
    await hide(tabs.at(-1)!, true)
    const tab = await first.context().newPage()
    tabs.push(tab)
    await tab.goto(`${url}/_evroute/`)
    await tab.getByText('Live').waitFor()
  }
  await send(paid)
  await tabs.at(-1)!.getByRole('option').click()
  await tabs.at(-1)!.getByRole('article').waitFor()
  await first.getByText('Connecting').first().waitFor()
  await hide(tabs.at(-1)!, true)
  await hide(first, false)
  await first.getByText('Live').waitFor()
  await first.getByRole('option').waitFor()
})
