import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { judge } from '../../src/webhook/index.ts'
import { makeAuthority, makeCertificate, type Certificate } from '../support/certificates.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { postTo } from './post-to.ts'

/** Starts an endpoint that requires client certificates and a new connection for each request. */
async function strictEndpoint(clients: Certificate, { cert, key }: Certificate) {
  const serialNumbers: string[] = []
  const server = createServer({ cert, key, ca: clients.cert, requestCert: true })
  server.on('request', (request, response) => {
    const { socket } = request
    if (socket instanceof TLSSocket) serialNumbers.push(socket.getPeerCertificate().serialNumber)
    request.resume()
    response.writeHead(200, { connection: 'close' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, serialNumbers }
}

/** Starts a strict endpoint, and writes the files of a client that it accepts. */
async function start() {
  const [authority, clients] = [await makeAuthority(), await makeAuthority()]
  const endpoint = await strictEndpoint(clients, await makeCertificate({ authority }))
  const folder = await temporaryFolder()
  const write = async ({ cert, key }: Certificate): Promise<void> => {
    await writeFile(join(folder, 'cert.pem'), cert)
    await writeFile(join(folder, 'key.pem'), key)
  }
  await write(await makeCertificate({ authority: clients }))
  await writeFile(join(folder, 'ca.pem'), authority.cert)
  const [cert, key, ca] = ['cert.pem', 'key.pem', 'ca.pem'].map((name) => join(folder, name))
  return { ...endpoint, clients, folder, write, cert, key, ca }
}

test('an endpoint with a private authority accepts a request with a client certificate', async () => {
  const { url, cert, key, ca, serialNumbers } = await start()
  expect(await postTo({ url, tls: { cert, key, ca } })()).toMatchObject({ status: 200 })
  expect(serialNumbers).toHaveLength(1)
})

test('an authority that is not configured is not trusted: nothing is sent, and the failure is final', async () => {
  const { url, cert, key, serialNumbers } = await start()
  const outcome = await postTo({ url, tls: { cert, key } })()
  expect(outcome).toMatchObject({ kind: 'certificate_refused' })
  expect(judge(outcome).verdict).toBe('final')
  expect(serialNumbers).toEqual([])
})

test('a request without a required client certificate is retried', async () => {
  const { url, ca, serialNumbers } = await start()
  const outcome = await postTo({ url, tls: { ca } })()
  expect(outcome).toMatchObject({ kind: 'connection_failed' })
  expect(judge(outcome).verdict).toBe('retry')
  expect(serialNumbers).toEqual([])
})

test('new connections present a renewed certificate, unless it is unusable', async () => {
  const { url, cert, key, ca, clients, write, serialNumbers } = await start()
  const warnings: unknown[] = []
  const log = { warn: (_message: string, fields: unknown) => warnings.push(fields) }
  const post = postTo({ url, tls: { cert, key, ca } }, { log })
  await post()
  await write(await makeCertificate({ authority: clients }))
  await post()
  await write({ cert: 'no certificate', key: 'no key' })
  await post()
  await post()
  expect(new Set(serialNumbers.slice(0, 2)).size).toBe(2)
  expect(serialNumbers.slice(2)).toEqual([serialNumbers[1], serialNumbers[1]])
  expect(warnings).toEqual([
    { reason: `Cannot use ${cert}: it contains no certificate in PEM format` },
  ])
})

test('unusable files at the first request are a temporary failure', async () => {
  const { url, folder } = await start()
  const outcome = await postTo({ url, tls: { ca: join(folder, 'missing.pem') } })()
  expect(outcome).toMatchObject({
    kind: 'connection_failed',
    message: `Cannot use ${join(folder, 'missing.pem')}: it is missing or empty`,
  })
})

test('endpoints with the same origin use their own certificates', async () => {
  const { url, cert, key, ca } = await start()
  const endpoints = [
    { url, tls: { ca } },
    { url: `${url}/2`, tls: { cert, key, ca } },
  ]
  const { sender } = postTo({ url }, { endpoints })
  const sent = { body: '{}', messageId: 'm_1' }
  const outcomes = await Promise.all(
    endpoints.map((endpoint) => sender.post({ ...endpoint, headers: {} }, sent)),
  )
  expect(outcomes).toMatchObject([{ kind: 'connection_failed' }, { status: 200 }])
})
