import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AddressGuard } from '../../src/http/index.ts'
import { judge } from '../../src/webhook/index.ts'
import { makeAuthority, makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { TestProxy } from '../support/proxy.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { postTo } from './post-to.ts'

const shortDeadlineMs = 200

/** Makes the guard of a service with a proxy. It must not resolve any name. */
const behind = (proxy: string): AddressGuard =>
  new AddressGuard({ proxy, resolveName: () => Promise.reject(new Error('a name was looked up')) })

/** Returns the URL of an endpoint, with a host name that only the proxy resolves. */
const named = ({ url }: TestEndpoint): string => url.replace('127.0.0.1', 'hooks.example.com')

const authorityOf = (url: string): string => new URL(url).host

test("plain HTTP goes through a tunnel, with the proxy's credentials only outside it", async () => {
  const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start()]
  const url = named(endpoint)
  const guard = behind(proxy.url.replace('//', '//us%40er:no-secret@'))
  expect(await postTo({ url }, { guard })()).toMatchObject({ kind: 'answered', status: 200 })
  const credentials = Buffer.from('us@er:no-secret').toString('base64')
  expect(proxy.tunnels).toEqual([
    { target: authorityOf(url), authorization: `Basic ${credentials}` },
  ])
  expect(proxy.others).toBe(0)
  expect(endpoint.requests[0]).toMatchObject({ method: 'POST', path: '/hook' })
  expect(endpoint.requests[0]?.headers.host).toBe(authorityOf(url))
  expect(endpoint.requests[0]?.headers).not.toHaveProperty('proxy-authorization')
})

describe('an https endpoint behind a proxy', () => {
  test("with a private authority gets evroute's client certificate", async () => {
    const authority = await makeAuthority()
    const server = await makeCertificate({ authority, host: 'hooks.example.com' })
    const client = await makeCertificate({ authority })
    const endpoint = await TestEndpoint.start(200, { ...server, clients: authority })
    const proxy = await TestProxy.start()
    const folder = await temporaryFolder()
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => join(folder, `${name}.pem`))
    await writeFile(ca!, authority.cert)
    await writeFile(cert!, client.cert)
    await writeFile(key!, client.key)
    const url = named(endpoint)
    const post = postTo({ url, tls: { ca, cert, key } }, { guard: behind(proxy.url) })
    expect([await post(), await post()]).toMatchObject([{ status: 200 }, { status: 200 }])
    expect(proxy.tunnels).toHaveLength(1)
    expect(endpoint.connections).toBe(1)
    const withoutClient = postTo({ url, tls: { ca } }, { guard: behind(proxy.url) })
    expect(await withoutClient()).toMatchObject({ kind: 'connection_failed' })
  })

  test('with a certificate from an unknown authority gets no request, and the failure is final', async () => {
    const certificate = await makeCertificate({ host: 'hooks.example.com' })
    const endpoint = await TestEndpoint.start(200, certificate)
    const guard = behind((await TestProxy.start()).url)
    const outcome = await postTo({ url: named(endpoint) }, { guard })()
    expect(outcome).toMatchObject({ kind: 'certificate_refused' })
    expect(judge(outcome)).toMatchObject({ verdict: 'final', error: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    expect(endpoint.requests).toEqual([])
  })
})

test('tunnels are reused, and never exceed the concurrency', async () => {
  const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start()]
  const post = postTo({ url: named(endpoint) }, { guard: behind(proxy.url), concurrency: 3 })
  for (let round = 0; round < 3; round++) {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => post()))
    expect(outcomes.every(({ kind }) => kind === 'answered')).toBe(true)
  }
  expect(endpoint.requests).toHaveLength(30)
  expect(proxy.openMax).toBe(3)
  expect(proxy.tunnels).toHaveLength(3)
})

test('closing the sender closes its tunnels', async () => {
  const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start()]
  const post = postTo({ url: named(endpoint) }, { guard: behind(proxy.url) })
  await post()
  await post.sender.close()
  await endpoint.disconnected()
  expect(proxy.tunnels).toHaveLength(1)
})

describe('the guard of a sender with a proxy', () => {
  test.each(['127.0.0.1', '2130706433', 'localhost', '[::1]', '169.254.169.254'])(
    'refuses %s without asking the proxy',
    async (host) => {
      const proxy = await TestProxy.start()
      const outcome = await postTo({ url: `http://${host}:8080/` }, { guard: behind(proxy.url) })()
      expect(outcome).toMatchObject({ kind: 'address_refused' })
      expect(proxy.tunnels).toEqual([])
    },
  )

  test('allows an address in network.allow', async () => {
    const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start()]
    const guard = new AddressGuard({ proxy: proxy.url, allow: ['127.0.0.1'] })
    expect(await postTo({ url: endpoint.url }, { guard })()).toMatchObject({ status: 200 })
    expect(proxy.tunnels).toMatchObject([{ target: authorityOf(endpoint.url) }])
  })
})

describe('a proxy that opens no tunnel', () => {
  const url = 'https://hooks.example.com/hook'

  test.each([407, 403, 502, 503, 200.5])(
    'but answers %s is named in the error, and the request is retried',
    async (status) => {
      const proxy = await TestProxy.start(status)
      const outcome = await postTo({ url }, { guard: behind(proxy.url) })()
      const error = Number.isInteger(status) ? `proxy_status_${status}` : 'proxy_malformed_answer'
      expect(outcome).toMatchObject({
        kind: 'connection_failed',
        message: expect.stringMatching(
          `^The proxy ${authorityOf(proxy.url)} did not open a tunnel: `,
        ) as string,
      })
      expect(judge(outcome)).toEqual({ verdict: 'retry', status: null, error })
    },
  )

  test('but closes the connection is named in the error', async () => {
    const proxy = await TestProxy.start('close')
    expect(judge(await postTo({ url }, { guard: behind(proxy.url) })())).toEqual({
      verdict: 'retry',
      status: null,
      error: 'proxy_ECONNRESET',
    })
  })

  test('because it is down is named in the error', async () => {
    const guard = behind(new URL(await unreachableUrl()).origin)
    const outcome = await postTo({ url }, { guard })()
    expect(judge(outcome)).toEqual({ verdict: 'retry', status: null, error: 'proxy_ECONNREFUSED' })
  })

  test('because it hangs is named in the error, and gets a new connection the next time', async () => {
    const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start('hang')]
    const settings = { guard: behind(proxy.url), deadlineMs: shortDeadlineMs, concurrency: 1 }
    const post = postTo({ url: named(endpoint) }, settings)
    const outcome = await post()
    expect(judge(outcome)).toEqual({ verdict: 'retry', status: null, error: 'proxy_timeout' })
    proxy.plan = 'open'
    expect(await post()).toMatchObject({ status: 200 })
  })

  test('is not blamed for an endpoint that hangs inside a tunnel', async () => {
    const [endpoint, proxy] = [await TestEndpoint.start('hang'), await TestProxy.start()]
    const settings = { guard: behind(proxy.url), deadlineMs: shortDeadlineMs }
    expect(await postTo({ url: named(endpoint) }, settings)()).toEqual({ kind: 'timeout' })
  })
})
