import { createHmac } from 'node:crypto'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { signBody } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { accessibilityFaults, openPage, secret, startReceiver, withBrowser } from './browser.ts'

withBrowser()

const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

describe('changes', () => {
  test('show what differs from the previous event of the same user', async () => {
    const { url, send } = await startReceiver()
    await send({ ...paid, messageId: 'm_1' })
    await send({ ...paid, messageId: 'm_2', properties: { total: 12, currency: 'EUR' } })
    await send({ ...paid, messageId: 'm_3', properties: { total: 12, currency: 'EUR' } })
    const page = await openPage(url)
    await page.getByRole('option', { name: /#2 / }).click()
    const detail = page.getByRole('article')
    await page.getByText('From #1 to #2').waitFor()
    expect(await detail.locator('.changes').innerText()).toMatch(
      /properties\.total\s+39\.95 → 12\s+properties\.currency\s+absent → "EUR"/,
    )
    await page.getByRole('option', { name: /#3 / }).click()
    await page.getByText(/Apart from messageId and timestamp, .* same as in #2/).waitFor()
    await page.getByRole('option', { name: /#1 / }).click()
    await page.getByText('There is no earlier event to compare with.').waitFor()
  })

  test('are shown only in part if there are thousands, and always as text', async () => {
    const { url, send } = await startReceiver()
    const evil = '<img src=x onerror=alert(1)>\u202e'
    const keys = Array.from({ length: 5_000 }, (_, index): [string, string] => [`k${index}`, evil])
    await send({ ...paid, properties: {} })
    await send({ ...paid, properties: { ...Object.fromEntries(keys), [evil]: 1 } })
    const page = await openPage(url)
    await page.getByRole('option').first().click()
    await page.getByText('4,901 more changes not shown').waitFor()
    expect(await page.locator('article img').count()).toBe(0)
    expect(await page.locator('.changes > div').count()).toBe(100)
  })
})

test('a wrong signature leads to a correct handler, in eight languages', async () => {
  const { url, post } = await startReceiver()
  const body = JSON.stringify(paid)
  const digest = createHmac('sha256', secret).update(body).digest('hex')
  await post(body, { 'x-signature': digest })
  const page = await openPage(url)
  await page.getByRole('option').click()
  await page.getByRole('button', { name: 'Show a handler that verifies' }).click()
  const languages = page.getByLabel('Language or framework')
  await expect.poll(() => languages.locator('option').count()).toBe(8)
  await languages.selectOption('go')
  await page.getByLabel('Handler for go').getByText('crypto/hmac').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Copy handler' }).click()
  await page.getByText('The handler has been copied.').waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(copied).toMatch(/^package main/)
})

describe('the application that requests are forwarded to', () => {
  const evil = '<img src=x onerror=alert(1)>\u202ejavascript:alert(2)'

  test('answers, and the answer is shown with the request: status, headers, body and time', async () => {
    const headers = { 'x-request-id': 'req_7', 'x-evil': '<script>alert(3)</script>' }
    const endpoint = await TestEndpoint.start({ status: 500, headers, body: evil })
    const { url, send } = await startReceiver({ forwardTo: [{ type: null, url: endpoint.url }] })
    await send(paid)
    const page = await openPage(url)
    await page.getByText('→ 500').click()
    const answer = page.locator('.part-of-detail', { hasText: "Your application's answer" })
    expect(await answer.innerText()).toMatch(/^[^]*500\s+http:.* in \d+ ms/)
    const body = answer.getByLabel('Body of the answer')
    expect(await body.innerText()).toBe(evil.replace('\u202e', '\\u202e'))
    await answer.locator('summary').click()
    await answer.getByText('req_7').waitFor()
    await answer.getByText('<script>alert(3)</script>').waitFor()
    expect(await page.locator('article :is(img, script)').count()).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('leads to advice if it refuses a valid signature', async () => {
    const endpoint = await TestEndpoint.start({ status: 401 })
    const { url, post, send } = await startReceiver({
      forwardTo: [{ type: null, url: endpoint.url }],
    })
    await send(paid)
    const spaced = JSON.stringify({ version: 1, ...paid }, null, 1)
    await post(spaced, { 'x-signature': signBody(spaced, secret) })
    const page = await openPage(url)
    const advice = page.getByRole('note')
    // The page reads a request once, and does not show an answer that comes later.
    await expect.poll(() => page.getByText('→ 401').count()).toBe(2)
    await page.getByRole('option').nth(1).click()
    await advice.getByText(/application answered 401/).waitFor()
    await advice.getByText(/same secret, read X-Signature/).waitFor()
    await page.getByRole('option').first().click()
    await advice.getByText(/JSON\.stringify writes this body differently/).waitFor()
    await advice.getByRole('button', { name: 'Show a handler that verifies' }).waitFor()
  })

  test('does not answer, and the page explains why', async () => {
    const endpoint = await TestEndpoint.start()
    await endpoint.close()
    const { url, send } = await startReceiver({ forwardTo: [{ type: null, url: endpoint.url }] })
    await send(paid)
    const page = await openPage(url)
    await page.getByText('→ connection refused').click()
    const answer = page.locator('.part-of-detail', { hasText: "Your application's answer" })
    expect(await answer.innerText()).toMatch(/ECONNREFUSED[^]*Nothing listens there\./)
  })
})

describe('the payload', () => {
  test('is searched by key and value', async () => {
    const { url, send } = await startReceiver()
    await send({ ...paid, properties: { total: 39.95, deep: { a: { b: { sku: 'A-17' } } } } })
    const page = await openPage(url)
    await page.getByRole('option').click()
    const search = page.getByRole('searchbox', { name: 'Search the payload' })
    const tree = page.locator('.tree')
    await search.fill('a-17')
    await tree.getByText('"A-17"').waitFor()
    expect(await tree.innerText()).not.toMatch(/total|event/)
    await search.fill('TOTAL')
    await expect.poll(() => tree.innerText()).toMatch(/total: 39\.95/)
    await search.fill('nowhere')
    await page.getByText('No key or value contains this text.').waitFor()
    await search.fill('')
    await tree.getByText('"Order Paid"').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('offers conditions that filter the list', async () => {
    const { url, send } = await startReceiver()
    await send({ ...paid, properties: { 'Company "Size"': 3, list: [{ sku: 'a *' }] } })
    await send(paid)
    const page = await openPage(url)
    await page.getByRole('option').last().click()
    await page.getByRole('searchbox', { name: 'Search the payload' }).fill('a *')
    await page.getByRole('button', { name: 'sku' }).click()
    await page.getByText('Copied properties.list.0.sku:"a \\*"').waitFor()
    await page.getByRole('searchbox', { name: 'Search the payload' }).fill('size')
    await page.getByRole('button', { name: 'Company "Size"' }).click()
    const condition = 'properties."Company \\"Size\\"":3'
    await page.getByText(`Copied ${condition}`).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(condition)
    await page.getByRole('button', { name: 'Filter by it' }).click()
    await expect.poll(() => page.getByRole('option').count()).toBe(1)
    const filter = page.getByRole('searchbox', { name: 'Filter' })
    expect(await filter.inputValue()).toBe(condition)
  })
})

test.each([
  ['evroute send', 'send command', /^npx evroute send --file - --to/],
  ['Fixture', 'fixture', /^\{\n {2}"version": 1/],
  ['Test', 'test', /^import \{ test \} from 'node:test'/],
])('a request is copied as %s', async (name, copied, text) => {
  const { url, send } = await startReceiver()
  await send(paid)
  const page = await openPage(url)
  await page.getByRole('option').click()
  await page.getByRole('button', { name: 'Copy as…' }).click()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByText(`The ${copied} has been copied.`).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(text)
})

describe('the next answer', () => {
  test('can be delayed, and a change of it can be undone', async () => {
    const { url, send, receiver } = await startReceiver()
    const page = await openPage(url, { expected: /400/ })
    const set = async (delay: string): Promise<void> => {
      await page.getByRole('button', { name: 'Next answer' }).click()
      await page.getByLabel('After').fill(delay)
      await page.getByRole('button', { name: 'Set', exact: true }).click()
    }
    await set('soon')
    await page.getByText('Cannot use "delay"').waitFor()
    await set('1ms')
    await page.getByText('The next webhook gets 503 after 1ms.').waitFor()
    expect(await send(paid)).toBe(503)
    expect(receiver.events[0]?.injected).toBe('delay 1ms, status 503')
    await set('')
    await page.getByText('The next webhook gets 503.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('The next webhook gets its usual answer.').waitFor()
    expect(await send(paid)).toBe(200)
  })
})

describe('the plan for the answers', () => {
  test('can be set and undone, is followed, and shows its progress', async () => {
    const { url, send } = await startReceiver()
    const page = await openPage(url)
    await page.getByRole('button', { name: 'Next answer' }).click()
    await page.getByText('No plan: webhooks get their usual answer.').waitFor()
    await page.getByLabel('Plan').fill('503x2,201\ntype=page:404')
    await page.getByRole('button', { name: 'Set plan' }).click()
    await page.getByText('The plan is set.').waitFor()
    expect([await send(paid), await send(paid), await send(paid)]).toEqual([503, 503, 201])
    expect(await send({ type: 'page', userId: 'u_1' })).toBe(404)
    await page.getByText('503x2,201 (3 given); type=page:404 (1 given)').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('200 (0 given)').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('503x2,201 (0 given)').waitFor()
    await page.getByLabel('Plan').fill('')
    await page.getByRole('button', { name: 'Set plan' }).click()
    await page.getByText('200 (0 given)').waitFor()
    expect(await send(paid)).toBe(200)
  })

  test('shows a mistake, and keeps the previous plan', async () => {
    const { url, send } = await startReceiver({ respond: 201 })
    const page = await openPage(url, { expected: /400/ })
    await page.getByRole('button', { name: 'Next answer' }).click()
    await page.getByLabel('Plan').fill('503,boom')
    await page.getByRole('button', { name: 'Set plan' }).click()
    await page.getByText('Cannot read the plan at character 5').waitFor()
    expect(await send(paid)).toBe(201)
  })
})

describe('expectations', () => {
  const list = (page: Page) => page.getByRole('list', { name: 'Expectations' })

  test('are created from an event or a text, and change as webhooks arrive', async () => {
    const { url, send, receiver } = await startReceiver()
    const judged = receiver.judge('type:group', { timeoutMs: Infinity })
    await send(paid)
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Expect this' }).click()
    await page.getByText('Expecting type:track event:"Order Paid" from now on.').waitFor()
    await page.getByRole('button', { name: 'Expectations' }).click()
    await expect.poll(() => list(page).innerText()).toMatch(/… open\s+type:group/)
    await page.getByLabel('Expect from now on').fill('type:track never')
    await page.getByRole('button', { name: 'Expect', exact: true }).click()
    const rows = list(page).getByRole('listitem')
    await expect.poll(() => rows.count()).toBe(3)
    expect(await rows.nth(1).innerText()).toMatch(/… open[^]*expected at least 1, got 0/)
    await send(paid)
    await expect.poll(() => rows.nth(1).innerText()).toMatch(/✓ met[^]*got 1/)
    await expect.poll(() => rows.nth(2).innerText()).toMatch(/✗ not met[^]*expected none, got 1/)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Remove type:track never' }).click()
    await expect.poll(() => rows.count()).toBe(2)
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => rows.count()).toBe(3)
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => rows.count()).toBe(2)
    await receiver.close()
    await judged
  })

  test('show that there are none, mistakes in their text, and when their time is over', async () => {
    const { url } = await startReceiver()
    const page = await openPage(url, { expected: /400/ })
    await page.getByRole('button', { name: 'Expectations' }).click()
    await page.getByText('There are no expectations.').waitFor()
    const field = page.getByLabel('Expect from now on')
    await field.fill('type:trak')
    await field.press('Enter')
    await page.getByText('Did you mean track?').waitFor()
    expect(await field.inputValue()).toBe('type:trak')
    await field.fill('type:track within 10ms')
    await field.press('Enter')
    await page.getByText('✗ not met').waitFor()
    await page.keyboard.press('Escape')
    expect(await list(page).count()).toBe(0)
    expect(await page.locator(':focus').innerText()).toBe('Expectations')
  })
})

test('a webhook of any type is composed from a sample and sent', async () => {
  const { url, receiver } = await startReceiver()
  const page = await openPage(url)
  await page.getByRole('button', { name: 'Compose' }).click()
  await page.getByRole('combobox', { name: 'Type' }).selectOption('identify')
  const body = page.getByRole('textbox', { name: 'Body' })
  await expect.poll(() => body.inputValue()).toContain('ada@example.com')
  expect(await accessibilityFaults(page)).toEqual([])
  await body.fill((await body.inputValue()).replace('u_sample', 'u_9'))
  await page.getByLabel('Path').fill('/composed')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Sent: the answer is 200.').waitFor()
  expect(receiver.events).toMatchObject([
    { path: '/composed', type: 'identify', userId: 'u_9', signature: 'valid' },
  ])
})

describe('a capture', () => {
  const drop = async (page: Page, text: string): Promise<void> => {
    const dataTransfer = await page.evaluateHandle(
      `const data = new DataTransfer()
       data.items.add(new File([${JSON.stringify(text)}], 'got.ndjson'))
       data`,
    )
    await page.locator('body').dispatchEvent('drop', { dataTransfer })
  }

  test('that is dropped on the page can be filtered and resent, until the live list returns', async () => {
    const first = await startReceiver()
    await first.send({ ...paid, userId: 'u_captured' })
    await first.send({ type: 'page', userId: 'u_captured' })
    const capture = await (await fetch(`${first.url}/_evroute/events`)).text()
    const { url, send, receiver } = await startReceiver()
    await send({ type: 'identify', userId: 'u_live' })
    const page = await openPage(url)
    const rows = page.getByRole('option')
    await page.getByText('u_live').waitFor()
    await drop(page, `${capture}no record\n`)
    await page.getByText('Showing got.ndjson: 2 requests, 1 unreadable line.').waitFor()
    expect(await page.getByText('u_live').count()).toBe(0)
    await send({ type: 'identify', userId: 'u_live' })
    await rows.last().click()
    await page.getByRole('heading', { name: '#1' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Resend', exact: true }).click()
    await page.getByText('Resent #1 without changes: the answer is 200.').waitFor()
    expect(receiver.events.at(-1)).toMatchObject({ userId: 'u_captured', signature: 'valid' })
    await page.getByRole('searchbox', { name: 'Filter' }).fill('type:page')
    await page.keyboard.press('Enter')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('button', { name: 'Back to live' }).click()
    await page.getByRole('searchbox', { name: 'Filter' }).fill('')
    await page.keyboard.press('Enter')
    await expect.poll(() => rows.count()).toBe(3)
    expect(await page.getByText('Showing').count()).toBe(0)
  })

  test('can be chosen in a dialog, says if it has no requests, and can be saved', async () => {
    const { url, send } = await startReceiver()
    await send(paid)
    const page = await openPage(url)
    const buffer = Buffer.from('a\nb\n')
    const file = { name: 'other.txt', mimeType: 'text/plain', buffer }
    await page.locator('input[type=file]').setInputFiles(file)
    await page.getByText('Showing other.txt: 0 requests, 2 unreadable lines.').waitFor()
    await page.getByRole('button', { name: 'Back to live' }).click()
    const saving = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Save capture' }).click()
    const download = await saving
    expect(download.suggestedFilename()).toBe('capture.ndjson')
  })
})

test('every part of the page says that the receiver is gone', async () => {
  const { url, send, receiver } = await startReceiver()
  await send(paid)
  const page = await openPage(url, { expected: /ERR_|Failed to load/ })
  await page.getByRole('option').click()
  await page.getByText('There is no earlier event').waitFor()
  await receiver.close()
  await page.getByRole('button', { name: 'Expectations' }).click()
  await page.getByText('There is no answer. Is evroute still running?').first().waitFor()
  await page.getByRole('button', { name: 'Compose' }).click()
  await page.getByRole('dialog').getByText('There is no answer').waitFor()
})

test('every panel fits into 320 px', async () => {
  const { url } = await startReceiver()
  const page = await openPage(url, { width: 320, colorScheme: 'dark' })
  for (const name of ['Next answer', 'Expectations']) {
    await page.getByRole('button', { name }).click()
    await page.getByRole('textbox').last().waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const panel = await page.locator('.panel:visible').boundingBox()
    expect(panel).toMatchObject({ x: 12, width: 296 })
    await page.getByRole('button', { name }).click()
  }
})

test('with a host name, only the link with the token opens the page', async () => {
  const { receiver, port, send } = await startReceiver({ host: '0.0.0.0' })
  const { pageToken } = await receiver.start()
  const url = `http://devbox.example.com:${port}`
  const refused = await openPage(url, { expected: /403/ })
  await refused.getByText('host_not_allowed').waitFor()
  const page = await openPage(`${url}/_evroute/?token=${pageToken}`, {
    // Over plain HTTP with a host name, the browser reports that it ignores this header.
    expected: /Cross-Origin-Opener-Policy/,
  })
  await page.getByText('Live').waitFor()
  expect(page.url()).toBe(`${url}/_evroute/`)
  await send(paid)
  await page.getByRole('option').click()
  await page.getByRole('button', { name: 'Resend', exact: true }).click()
  await page.getByText('Resent #1 without changes: the answer is 200.').waitFor()
  // Browsers do not let such a page write to the clipboard.
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByRole('textbox', { name: 'curl command' }).waitFor()
})
