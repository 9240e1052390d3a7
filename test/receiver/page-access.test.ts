import { request } from 'undici'
import { expect, test } from 'vitest'
import { createRuntime, ManualClock } from '../../src/runtime/index.ts'
import { start, trackBody, post } from './requests.ts'

/** Sends a request as if a proxy passed it on from a different machine. */
const elsewhere = { host: 'devbox.example.com:4100', 'x-forwarded-for': '192.0.2.1' }

async function get(url: string, headers: Readonly<Record<string, string>>) {
  const answer = await request(url, { headers })
  await answer.body.dump()
  return { status: answer.statusCode, headers: answer.headers }
}

test('only the sign-in link lets a browser on a different machine into an open receiver', async () => {
  const { url, port, pageToken } = await start({ host: '0.0.0.0' })
  const page = `http://127.0.0.1:${port}/_evroute/`
  await post(`http://127.0.0.1:${port}`, trackBody)
  expect(url).toContain('0.0.0.0')
  expect(await get(page, elsewhere)).toMatchObject({ status: 403 })
  expect(await get(`${page}?token=wrong`, elsewhere)).toMatchObject({ status: 403 })
  const signedIn = await get(`${page}?token=${pageToken}`, elsewhere)
  expect(signedIn).toMatchObject({ status: 303, headers: { location: '/_evroute/' } })
  const cookie = String(signedIn.headers['set-cookie']).split(';')[0]!
  expect(String(signedIn.headers['set-cookie'])).toContain('HttpOnly; SameSite=Strict')
  expect(await get(`${page}event?seq=1`, { ...elsewhere, cookie })).toMatchObject({ status: 200 })
  const foreign = { ...elsewhere, cookie, origin: 'https://example.com' }
  expect(await get(`${page}event?seq=1`, foreign)).toMatchObject({ status: 403 })
  const image = { ...elsewhere, cookie, 'sec-fetch-site': 'same-site' }
  expect(await get(`${page}event?seq=1`, image)).toMatchObject({ status: 403 })
  const resend = { ...foreign, 'content-type': 'application/json' }
  expect(await post(`${page}actions/resend`, '{"seq":1}', resend)).toMatchObject({ status: 403 })
  const other = await start()
  const json = { 'content-type': 'application/json' }
  const edited = JSON.stringify({ seq: 1, edit: { url: other.url } })
  const fromElsewhere = { ...json, ...elsewhere, cookie }
  expect(await post(`${page}actions/resend`, edited, fromElsewhere)).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('another server') as string } },
  })
  expect(await post(`${page}actions/resend`, '{"seq":1}', fromElsewhere)).toMatchObject({
    status: 200,
  })
  expect(other.receiver.events).toHaveLength(0)
  expect(await post(`${page}actions/resend`, edited, json)).toMatchObject({ status: 200 })
  expect(other.receiver.events).toHaveLength(1)
})

test('once its session has ended, a browser is told to open the link again', async () => {
  const clock = new ManualClock(0)
  const { port, pageToken } = await start({ host: '0.0.0.0', runtime: createRuntime({ clock }) })
  const page = `http://127.0.0.1:${port}/_evroute/`
  const { headers } = await get(`${page}?token=${pageToken}`, elsewhere)
  const cookie = String(headers['set-cookie']).split(';')[0]!
  await clock.advance(12 * 60 * 60 * 1_000)
  const answer = await request(`${page}plan`, { headers: { ...elsewhere, cookie } })
  expect(answer.statusCode).toBe(403)
  expect(await answer.body.text()).toContain('open the link that evroute printed')
})

test('a browser at the root is redirected to the page, and is not recorded as a request', async () => {
  const { url, receiver } = await start()
  const answer = await get(url, { accept: 'text/html,*/*;q=0.8' })
  expect(answer).toMatchObject({ status: 303, headers: { location: '/_evroute/' } })
  expect(receiver.events).toHaveLength(0)
  expect(await get(url, { accept: '*/*' })).toMatchObject({ status: 405 })
  expect(receiver.events).toHaveLength(1)
})

test('a link on another page opens the page', async () => {
  const { url } = await start()
  const link = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  }
  expect(await get(`${url}/_evroute/?seq=1`, link)).toMatchObject({ status: 200 })
  expect(await get(`${url}/_evroute/events`, link)).toMatchObject({ status: 403 })
})

test('a receiver on loopback has no sign-in link', async () => {
  const { url, pageToken } = await start()
  expect(pageToken).toBeNull()
  expect(await get(`${url}/_evroute/?token=null`, elsewhere)).toMatchObject({ status: 403 })
})
