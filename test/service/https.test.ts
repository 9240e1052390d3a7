import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { makeAuthority, makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { documentFor, startService, token, writeKey } from './running-service.ts'

test('a service speaks HTTPS on both ports, and gives clients its public URL', async () => {
  const authority = await makeAuthority()
  const { cert, key } = await makeCertificate({ authority })
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'cert.pem'), cert)
  await writeFile(join(folder, 'key.pem'), key)
  const endpoint = await TestEndpoint.start()
  const tls = { cert: 'cert.pem', key: 'key.pem' }
  const publicUrl = 'https://events.example.com/collect'
  const document = documentFor(endpoint, {
    listen: { port: 0, tls, publicUrl },
    admin: { port: 0, token, tls },
  })
  const { service, settled } = await startService(document, undefined, folder)
  const { url, admin } = service.address
  expect([url, admin]).toEqual([
    expect.stringMatching(/^https:\/\/127/),
    expect.stringMatching(/^https:\/\/127/),
  ])
  const dispatcher = new Agent({ connect: { ca: authority.cert } })
  onTestFinished(() => dispatcher.close())
  const posted = await request(`${url}/v1/track`, {
    dispatcher,
    method: 'POST',
    headers: { 'x-write-key': writeKey },
    body: JSON.stringify({ userId: 'u_1', event: 'Order Completed' }),
  })
  expect(posted.statusCode).toBe(200)
  await posted.body.dump()
  await expect.poll(() => settled).toHaveLength(1)
  const settings = await request(`${url}/v1/projects/${writeKey}/settings`, { dispatcher })
  expect(await settings.body.json()).toMatchObject({
    integrations: { 'Segment.io': { apiHost: 'events.example.com/collect/v1', protocol: 'https' } },
  })
  const sources = await request(`${admin ?? ''}/v1/sources`, {
    dispatcher,
    headers: { authorization: `Bearer ${token}` },
  })
  expect(await sources.body.json()).toMatchObject({ url: publicUrl })
})

test('a service presents its client certificate to an endpoint, and never shows a key', async () => {
  const authority = await makeAuthority()
  const { cert, key } = await makeCertificate({ authority })
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'cert.pem'), cert)
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'ca.pem'), authority.cert)
  const server = createServer({ cert, key, ca: authority.cert, requestCert: true })
  server.on('request', (incoming, response) => {
    incoming.resume()
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const tls = { cert: 'cert.pem', key: 'key.pem', ca: 'ca.pem' }
  const document = documentFor(await TestEndpoint.start(), {
    destination: { endpoints: [{ url, tls }] },
  })
  const { track, admin, settled } = await startService(document, undefined, folder)
  await track('m_1')
  await expect.poll(() => settled).toMatchObject([{ state: 'delivered' }])
  expect(JSON.stringify((await admin('/v1/destinations?reveal=true')).body)).not.toContain('.pem')
})
