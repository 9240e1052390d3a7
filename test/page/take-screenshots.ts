import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import chromium from '@sparticuz/chromium'
import { chromium as launcher } from 'playwright-core'
import { Receiver } from '../../src/receiver/index.ts'
import { signBody } from '../../src/webhook/index.ts'
import { openShop } from './shop-service.ts'

/** Takes the screenshots for the documentation from the built page, with webhooks of a fictional shop. */

const secret = 'not-a-real-secret'
await using receiver = new Receiver({ secret, port: 4100 })
const { url } = await receiver.start()

async function post(call: object, digest = 'sha1'): Promise<void> {
  const body = JSON.stringify({ version: 1, ...call })
  const signature =
    digest === 'sha1'
      ? signBody(body, secret)
      : createHmac(digest, secret).update(body).digest('hex')
  const headers = { 'x-signature': signature, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/hooks`, { method: 'POST', body, headers })
  await answer.arrayBuffer()
}

const people = ['ada', 'grace', 'alan', 'edsger'].map((name) => `${name}@example.com`)
for (const [index, email] of people.entries()) {
  const userId = `u_${index + 1}`
  await post({
    type: 'identify',
    userId,
    traits: { email, plan: index % 2 === 0 ? 'pro' : 'free' },
  })
  await post({ type: 'page', userId, properties: { title: 'Pricing', path: '/pricing' } })
  await post({
    type: 'track',
    userId,
    event: 'Order Completed',
    messageId: `m_${index}`,
    properties: { total: 39.95, currency: 'EUR', products: [{ sku: 'a-1', quantity: 2 }] },
  })
}
await post({ type: 'group', userId: 'u_2', groupId: 'g_7', traits: { name: 'Example Ltd' } })
receiver.respondNext(503)
await post({ type: 'track', userId: 'u_3', event: 'Order Shipped', properties: { days: 2 } })
await post(
  { type: 'track', userId: 'u_3', event: 'Order Refunded', properties: { total: 5 } },
  'sha256',
)

await using shop = await openShop()

const browser = await launcher.launch({
  executablePath: await chromium.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
})
for (const colorScheme of ['light', 'dark'] as const) {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1_280, height: 760 } })
  const shoot = (name: string): Promise<Buffer> => {
    const path = new URL(`../../docs/images/${name}-${colorScheme}.png`, import.meta.url)
    return page.screenshot({ path: fileURLToPath(path) })
  }
  await page.goto(`${url}/_evroute/`)
  await page.getByRole('option', { name: /Refunded/ }).click()
  await page.getByRole('article').waitFor()
  await shoot('page')
  await page.goto(shop.signInLink() ?? '')
  await page.getByRole('list', { name: 'What is wrong' }).waitFor()
  await shoot('service')
  await page.getByRole('link', { name: 'Deliveries', exact: true }).click()
  await page.getByLabel('State').selectOption('pending')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('row').last().getByRole('link').click()
  await page.getByRole('article').waitFor()
  await shoot('delivery')
  await page.close()
}
await browser.close()
