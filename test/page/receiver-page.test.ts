import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { signBody } from '../../src/webhook/index.ts'
import { openPage, secret, startReceiver, withBrowser } from './browser.ts'

withBrowser()

const paid = { type: 'track', userId: 'u_1', event: 'Order Paid', properties: { total: 39.95 } }

/** Makes a webhook that is signed with the wrong digest. */
function signedWrongly(call: object): readonly [body: string, headers: Record<string, string>] {
  const body = JSON.stringify({ version: 1, ...call })
  return [body, { 'x-signature': createHmac('sha256', secret).update(body).digest('hex') }]
}

describe('the list', () => {
  test('shows what arrives, newest first, with its answer and signature', async () => {
    const { url, send, post } = await startReceiver()
    await send({ type: 'identify', userId: 'u_1', traits: { plan: 'pro' } })
    const page = await openPage(url)
    const rows = page.getByRole('option')
    await expect.poll(() => rows.count()).toBe(1)
    await send(paid)
    await post(...signedWrongly({ ...paid, userId: 'u_2' }))
    await expect.poll(() => rows.count()).toBe(3)
    const texts = await rows.allInnerTexts()
    expect(texts[0]).toMatch(/track[^]*“Order Paid”[^]*200[^]*#3[^]*signature ✗ wrong[^]*u_2/i)
    expect(texts[1]).toMatch(/#2[^]*signature\s+✓ valid/)
    expect(texts[2]).toMatch(/identify[^]*plan=pro/i)
    expect(await page.title()).toBe('(1) evroute')
    expect(await page.getByRole('button', { name: 'Only failures' }).innerText()).toMatch(/\b1$/)
    // Only failures are coloured.
    expect(await rows.locator('.badge').allInnerTexts()).toEqual(['signature ✗ wrong'])
  })

  test('says what to do while it is empty', async () => {
    const { url } = await startReceiver()
    const page = await openPage(url)
    await page.getByText('Waiting for webhooks').waitFor()
    const command = `npx evroute send track --to ${url} --secret YOUR_SECRET`
    expect(await page.getByText('npx evroute send track').innerText()).toBe(command)
    await page.getByRole('button', { name: 'Copy command' }).click()
    await page.getByText('The command has been copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command)
    await page.getByRole('button', { name: 'Send a sample' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: url }).click()
    await page.getByText('The URL has been copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(url)
  })

  test('reports a repeated messageId', async () => {
    const { url, send } = await startReceiver()
    await send({ ...paid, messageId: 'm_1' })
    await send({ ...paid, messageId: 'm_1' })
    const page = await openPage(url)
    await page.getByText('same id: #1').waitFor()
  })

  test('keeps no more rows in the document than the screen shows', async () => {
    const { url, send } = await startReceiver()
    for (let index = 0; index < 120; index++) await send({ ...paid, userId: `u_${index}` })
    const page = await openPage(url)
    await page.getByRole('option').first().waitFor()
    await expect.poll(() => page.getByRole('option').count()).toBeLessThan(40)
    await page.getByRole('listbox').press('ArrowDown')
    await page.getByRole('heading', { name: '#120 ' }).waitFor()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: '#119 ' }).waitFor()
    await page.getByRole('listbox').press('End')
    await page.getByRole('heading', { name: '#1 ' }).waitFor()
    const oldest = page.getByRole('option').last()
    await expect.poll(() => oldest.innerText()).toMatch(/“Order Paid”[^]*u_0/)
    const selected = page.getByRole('option', { selected: true })
    expect(await selected.getAttribute('aria-posinset')).toBe('120')
    await expect.poll(() => selected.isVisible()).toBe(true)
    await page.keyboard.press('Home')
    await page.getByRole('heading', { name: '#120 ' }).waitFor()
    await expect.poll(() => selected.isVisible()).toBe(true)
  })

  test('says that the receiver is gone, and continues with the next one', async () => {
    const first = await startReceiver()
    await first.send(paid)
    const page = await openPage(first.url, { expected: /ERR_|Failed to load/ })
    await page.getByRole('option').click()
    await page.getByRole('heading', { name: '#1' }).waitFor()
    await page.getByText('There is no earlier event').waitFor()
    await first.receiver.close()
    await page.getByText('Not connected').waitFor()
    await page.getByRole('button', { name: 'Resend', exact: true }).click()
    const notice = page.getByText('There is no answer. Is evroute still running?')
    await notice.waitFor()
    const second = await startReceiver({ port: first.port })
    await second.send({ type: 'page', userId: 'u_9' })
    await page.getByText('u_9').waitFor()
    expect(await page.getByRole('option').count()).toBe(1)
    await page.getByText('Select a request').waitFor()
    expect(await notice.count()).toBe(0)
  })
})

describe('a request', () => {
  test('that is not a webhook shows its body as a tree if it is JSON, and its bytes first otherwise', async () => {
    const { url, post } = await startReceiver()
    await post('{"batch":[{"type":"track"}]}')
    await post('{"no json')
    const page = await openPage(url)
    await page.getByRole('option').last().click()
    const diagnosis = page.getByRole('note')
    await diagnosis.getByText('The body has no type. The request has no X-Signature').waitFor()
    expect(await page.locator('.tree').innerText()).toMatch(/batch: \[ \] 1 element/)
    await page.getByRole('option').first().click()
    await page.getByRole('heading', { name: '#2 ' }).waitFor()
    const parts = page.getByRole('article').getByRole('heading', { level: 3 })
    expect(await parts.allInnerTexts()).toEqual(['Bytes (9)', 'Headers'])
  })

  test('is shown with its payload, headers and bytes', async () => {
    const { url, send } = await startReceiver()
    await send(paid)
    const page = await openPage(url)
    await page.getByRole('option').click()
    const detail = page.getByRole('article')
    const text = async (): Promise<string> => detail.innerText()
    await expect.poll(text).toMatch(/total: 39\.95/)
    expect(await text()).toContain('POST /hook')
    expect(await text()).toContain('x-signature')
    expect(await text()).toContain('{"version":1,"type":"track"')
  })

  test('has no arrow at an object or list without members', async () => {
    const { url, send } = await startReceiver()
    await send({ ...paid, properties: { none: {}, list: [], some: { a: 1 } } })
    const page = await openPage(url)
    await page.getByRole('option').click()
    const tree = page.locator('.tree')
    await tree.getByText('some').waitFor()
    expect(await tree.innerText()).toMatch(/none: \{ \}\s+list: \[ \]/)
    expect(await tree.locator('summary').allInnerTexts()).toEqual([
      expect.stringContaining('5 keys'),
      expect.stringMatching(/^properties: .*3 keys/),
      expect.stringMatching(/^some: .*1 key$/),
    ])
  })

  test('with a wrong signature says why, and what to do', async () => {
    const { url, post } = await startReceiver({ passesOn: true })
    await post(...signedWrongly(paid))
    const page = await openPage(url)
    await page.getByRole('option').click()
    expect(await page.getByRole('note').innerText()).toMatch(/HMAC-SHA256[^]*Use HMAC-SHA1/)
    expect(await page.getByRole('article').innerText()).toMatch(
      /Passed on\s+No: its signature is not valid, so it is neither forwarded nor given to --on-event/,
    )
  })

  test('with an unknown mistake in its signature says what to check, and is signed and resent', async () => {
    const { url, post, receiver } = await startReceiver()
    const body = JSON.stringify({ version: 1, ...paid })
    await post(body, { 'x-signature': signBody(body, 'another') })
    const page = await openPage(url)
    await page.getByRole('option').click()
    const note = page.getByRole('note')
    await page.getByText('Arrived').waitFor()
    // No target for forwarding is configured.
    expect(await page.getByText('Passed on').count()).toBe(0)
    expect(await note.innerText()).toMatch(
      /different secret[^]*Check that the sender has the secret/,
    )
    await note.getByRole('button', { name: 'Sign and resend' }).click()
    await page.getByText('Signed and resent #1: the answer is 200. Signature ✓ valid.').waitFor()
    const [, resent] = receiver.events
    expect(resent?.rawBody.toString()).toBe(body)
  })

  test('shows the whole signature at 320 px, even if it is a repeat and was forwarded', async () => {
    const { url: target } = await startReceiver()
    const forwardTo = [{ type: null, url: `${target}/a-long-path-of-an-application` }]
    const { url, send } = await startReceiver({ forwardTo })
    await send({ ...paid, messageId: 'm_1' })
    await send({ ...paid, messageId: 'm_1' })
    const page = await openPage(url, { width: 320 })
    const row = page.getByRole('option').first()
    const box = async (part: string) => {
      const { x, width } = (await row.locator(part).boundingBox())!
      return { left: x, right: x + width }
    }
    await row.getByText('same id: #1').waitFor()
    await row.getByText('→ 200').waitFor()
    const facts = await box('.facts')
    expect((await box('.signature')).right).toBeLessThan((await box('.forwarded')).left)
    expect((await box('.forwarded')).left + 40).toBeLessThan(facts.right)
  })

  test('is shown in hexadecimal if its bytes are not text', async () => {
    const { url, post } = await startReceiver()
    await post(Buffer.from([0xff, 0x00, 0x41]))
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByText('000000  ff 00 41').waitFor()
  })

  test('is resent unchanged', async () => {
    const { url, send, receiver } = await startReceiver()
    await send(paid)
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Resend', exact: true }).click()
    await page
      .getByText('Resent #1 without changes: the answer is 200. Signature ✓ valid.')
      .waitFor()
    await page.getByRole('button', { name: 'Show #2' }).click()
    await page.getByRole('heading', { name: '#2' }).waitFor()
    const [one, other] = receiver.events
    expect(other?.rawBody).toEqual(one?.rawBody)
    expect(other?.signature).toBe('valid')
  })

  test('is edited, signed again and resent', async () => {
    const { url, post, receiver } = await startReceiver()
    await post(...signedWrongly(paid))
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Edit and resend' }).click()
    await page.getByLabel('Path').fill('/other?a=1')
    await page.getByLabel('Headers').fill('content-type: application/json\nx-team: growth')
    await page
      .getByRole('textbox', { name: 'Body' })
      .fill('{"type":"track",\n"userId":"u_7","event":"Edited"}')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Resent #1 edited: the answer is 200.').waitFor()
    expect(receiver.events[1]).toMatchObject({
      path: '/other?a=1',
      signature: 'valid',
      userId: 'u_7',
      headers: { 'x-team': 'growth' },
    })
    expect(receiver.events[1]?.rawBody.toString()).toContain(',\n"userId"')
  })

  test('is edited and sent to a different server', async () => {
    const { url, send, receiver } = await startReceiver()
    const other = await startReceiver()
    await send(paid)
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Edit and resend' }).click()
    await page.getByLabel('URL or path').fill('ftp://example.com')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    expect(await page.locator(':invalid').count()).toBeGreaterThan(0)
    const body = page.getByRole('textbox', { name: 'Body' })
    expect(await body.inputValue()).toContain('\n  "userId": "u_1",\n')
    await page.getByLabel('URL or path').fill(`${other.url}/hook`)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText(`Resent #1 edited to ${other.url}/hook: the answer is 200.`).waitFor()
    expect(other.receiver.events).toMatchObject([{ path: '/hook', signature: 'valid' }])
    expect(other.receiver.events[0]?.rawBody).toEqual(receiver.events[0]?.rawBody)
    expect(receiver.events).toHaveLength(1)
  })

  test('is copied as curl', async () => {
    const { url, send } = await startReceiver()
    await send({ ...paid, userId: "u_'1" })
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('The curl command has been copied.').waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).toMatch(/^curl -g -i -X POST 'http:\/\/127\.0\.0\.1:\d+\/hook' .*x-signature/)
    expect(copied).toContain(`u_'\\''1`)
  })

  test('gets the answer that is set for the next request, only once', async () => {
    const { url, send } = await startReceiver()
    const page = await openPage(url)
    await page.getByRole('button', { name: 'Next answer' }).click()
    await page.getByLabel('The next webhook gets').selectOption('503')
    await page.getByRole('button', { name: 'Set', exact: true }).click()
    await page.getByText('The next webhook gets 503.').waitFor()
    expect([await send(paid), await send(paid)]).toEqual([503, 200])
  })
})

describe('a hostile payload', () => {
  const evil =
    '<img src=x onerror=alert(1)><script>alert(2)</script>\u202e\u0007javascript:alert(3)'
  const link = 'javascript:alert(6)'

  test('runs nothing and changes no text around it', async () => {
    const { url, post, send } = await startReceiver()
    await send({
      type: 'track',
      userId: evil,
      event: evil,
      properties: { [evil]: evil, url: link },
    })
    await send({ type: 'identify', userId: 'u_1', traits: { __proto__: evil, [evil]: [evil] } })
    await post(evil, {
      'x-evil': '<script>alert(4)</script>',
      'x-signature': 'javascript:alert(5)',
    })
    const page = await openPage(url)
    const rows = page.getByRole('option')
    await expect.poll(() => rows.count()).toBe(3)
    for (const row of await rows.all()) {
      await row.click()
      await page.getByRole('article').waitFor()
      await page.getByRole('button', { name: 'Edit and resend' }).click()
      await page.getByRole('button', { name: 'Cancel' }).click()
    }
    expect(await page.locator('img, article script').count()).toBe(0)
    await rows.last().click()
    await page.getByRole('heading', { name: '#1' }).waitFor()
    expect(await page.getByRole('article').innerText()).toContain('\\u202e\\u0007')
    expect(await page.getByRole('article').innerText()).toContain(link)
    expect(await page.locator('[href*="javascript:"], [src*="javascript:"]').count()).toBe(0)
  })

  test('with right-to-left text reverses only itself', async () => {
    const { url, send } = await startReceiver()
    const hebrew = '\u05e9\u05dc\u05d5\u05dd'
    await send({ type: 'identify', userId: 'u_1', traits: { [hebrew]: hebrew } })
    const page = await openPage(url)
    const row = page.getByRole('option')
    await row.click()
    const left = async (selector: string): Promise<number> =>
      (await page.locator(selector).last().boundingBox())!.x
    await page.locator('.tree .string').last().waitFor()
    expect(await left('.summary .part >> nth=0')).toBe(await left('.summary'))
    expect(await left('.tree .name')).toBeLessThan(await left('.tree .string'))
  })

  test.each([
    ['a string of 1 MB', { text: 'x'.repeat(999_000) }],
    ['100,000 keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [i, 0]))],
    ['400 levels', JSON.parse(`${'{"a":'.repeat(400)}1${'}'.repeat(400)}`) as object],
  ])('of %s is shown in part, and the page keeps working', async (_name, properties) => {
    const { url, send } = await startReceiver()
    expect(await send({ ...paid, properties })).toBe(200)
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('article').waitFor()
    expect(await page.locator('article *').count()).toBeLessThan(2_000)
    await page.getByRole('button', { name: 'Resend', exact: true }).click()
    await page.getByText('the answer is 200').waitFor()
  })

  test('that is nested 4,000 levels deep is reported as not a webhook', async () => {
    const { url, post } = await startReceiver()
    await post('['.repeat(4_000) + ']'.repeat(4_000))
    const page = await openPage(url)
    await page.getByRole('option').click()
    await page.getByRole('note').getByText('The body is nested').waitFor()
    await page.getByRole('heading', { name: /^Bytes/ }).waitFor()
  })
})

describe('accessibility', () => {
  test('the keyboard alone is enough to resend a new webhook', async () => {
    const { url, send, receiver } = await startReceiver()
    const page = await openPage(url)
    await page.getByText('Waiting for webhooks').waitFor()
    await send(paid)
    await page.getByRole('option').waitFor()
    await page.keyboard.press('j')
    await page.getByRole('article').waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').innerText()).toBe('Resend')
    await page.keyboard.press('Enter')
    await expect.poll(() => receiver.events.length).toBe(2)
    await page.keyboard.press('r')
    await expect.poll(() => receiver.events.length).toBe(3)
    await page.keyboard.press('e')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.type('type:page')
    await page.keyboard.press('Enter')
    await page.getByText('No request matches').waitFor()
  })
})
