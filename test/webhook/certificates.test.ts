import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkDestination, WebhookSender, type RequestOutcome } from '../../src/webhook/index.ts'
import { makeAuthority, makeCertificate, type Certificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { TestProxy } from '../support/proxy.ts'
import { runSource } from '../support/run-source.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const hourMs = 60 * 60 * 1_000

async function postOnce(url: string): Promise<RequestOutcome> {
  const destination = checkDestination({ id: 'crm', sourceIds: ['app'], endpoints: [{ url }] })
  const sender = new WebhookSender({ destination })
  onTestFinished(() => sender.close())
  return sender.post(destination.endpoints[0]!, { body: '{"type":"delete"}', messageId: 'm_1' })
}

/** Posts once to each endpoint, from a process with these environment variables. */
async function postToEach(
  endpoints: readonly TestEndpoint[],
  environment: Readonly<Record<string, string>>,
): Promise<readonly RequestOutcome[]> {
  const program = new URL('post-to-each.ts', import.meta.url)
  const urls = endpoints.map(({ url }) => url)
  return JSON.parse(await runSource(program, urls, environment)) as readonly RequestOutcome[]
}

/** Posts once to each endpoint, from a process that trusts the authority. */
async function postTrusting(
  { cert }: Certificate,
  endpoints: readonly TestEndpoint[],
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly RequestOutcome[]> {
  const authorityFile = join(await temporaryFolder(), 'authority.pem')
  await writeFile(authorityFile, cert)
  return postToEach(endpoints, { ...environment, NODE_EXTRA_CA_CERTS: authorityFile })
}

describe('an endpoint is refused before any request is sent if its certificate is', () => {
  test.each([
    { name: 'self-signed', code: 'DEPTH_ZERO_SELF_SIGNED_CERT', make: () => makeCertificate() },
    {
      name: 'expired',
      code: 'CERT_HAS_EXPIRED',
      make: () => makeCertificate({ expiresInMs: -hourMs }),
    },
    {
      name: 'signed by an unknown authority, whose certificate is sent along',
      code: 'SELF_SIGNED_CERT_IN_CHAIN',
      make: async () => makeCertificate({ authority: await makeAuthority(), withChain: true }),
    },
    {
      name: 'signed by an unknown authority, whose certificate is not sent',
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      make: async () => makeCertificate({ authority: await makeAuthority() }),
    },
  ])('$name', async ({ code, make }) => {
    const endpoint = await TestEndpoint.start(200, await make())
    expect(await postOnce(endpoint.url)).toMatchObject({ kind: 'certificate_refused', code })
    expect(endpoint.connections).toBe(1)
    expect(endpoint.requests).toHaveLength(0)
  })
})

test("a trusted authority's certificates are accepted only if they are valid", async () => {
  const authority = await makeAuthority()
  const start = async (certificate: Promise<Certificate>): Promise<TestEndpoint> =>
    TestEndpoint.start(200, await certificate)
  const endpoints = await Promise.all([
    start(makeCertificate({ authority })),
    start(makeCertificate({ authority, host: 'other.example.com' })),
    start(makeCertificate({ authority, expiresInMs: -hourMs })),
    start(makeCertificate({ authority, algorithm: 'sha1' })),
  ])
  expect(await postTrusting(authority, endpoints)).toMatchObject([
    { kind: 'answered', status: 200 },
    { kind: 'certificate_refused', code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    { kind: 'certificate_refused', code: 'CERT_HAS_EXPIRED' },
    // OpenSSL reports that the digest is too weak. Node has no code for that.
    { kind: 'certificate_refused', code: 'UNSPECIFIED' },
  ])
  expect(endpoints.map(({ requests }) => requests.length)).toEqual([1, 0, 0, 0])
})

test('an HTTPS proxy is verified like an endpoint, but its wrong certificate is a retryable failure', async () => {
  const authority = await makeAuthority()
  const certificate = await makeCertificate({ authority })
  const endpoints = [await TestEndpoint.start(200, certificate), await TestEndpoint.start()]
  const good = await TestProxy.start('open', certificate)
  expect(await postTrusting(authority, endpoints, { POST_THROUGH: good.url })).toMatchObject([
    { status: 200 },
    { status: 200 },
  ])
  expect(good.tunnels).toHaveLength(2)
  const other = await makeCertificate({ authority, host: 'other.example.com' })
  const wrong = await TestProxy.start('open', other)
  const refused = { kind: 'connection_failed', code: 'proxy_ERR_TLS_CERT_ALTNAME_INVALID' }
  expect(await postTrusting(authority, endpoints, { POST_THROUGH: wrong.url })).toMatchObject([
    refused,
    refused,
  ])
  expect(wrong.tunnels).toEqual([])
})

test('environment variables cannot disable certificate checks', async () => {
  const endpoint = await TestEndpoint.start(200, await makeCertificate())
  expect(await postToEach([endpoint], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toMatchObject([
    { kind: 'certificate_refused', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  ])
  expect(endpoint.requests).toHaveLength(0)
})
