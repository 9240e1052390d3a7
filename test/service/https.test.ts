import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { makeAuthority, makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { documentFor, startService, token, writeKey } from './running-service.ts'

test('a service speaks https on both ports, and tells clients its public URL', async () => {
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
