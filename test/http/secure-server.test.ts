import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen, TlsFiles, type ListenOptions } from '../../src/http/index.ts'
import { makeAuthority, makeCertificate, type Certificate } from '../support/certificates.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { dial, readAll } from './raw-client.ts'

const fine: RequestListener = (_request, response) => response.end('fine')
const get = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

/** Replaces the files of a certificate as renewal programs do. */
async function write(folder: string, certificate: Partial<Certificate>): Promise<void> {
  for (const [name, text] of Object.entries(certificate)) {
    await writeFile(join(folder, `${name}.new`), text)
    await rename(join(folder, `${name}.new`), join(folder, name))
  }
}

/** An HTTPS server that is closed when the test ends. */
async function start(options: ListenOptions = {}, handler = fine) {
  const authority = await makeAuthority()
  const folder = await temporaryFolder()
  await write(folder, await makeCertificate({ authority }))
  const warnings: unknown[] = []
  const tls = await TlsFiles.open(
    { cert: join(folder, 'cert'), key: join(folder, 'key') },
    { warn: (_message, fields) => warnings.push(fields) },
  )
  const listening = await listen(handler, { host: '127.0.0.1', port: 0 }, { ...options, tls })
  onTestFinished(() => listening.close(0))
  const { port } = listening
  return {
    listening,
    authority,
    folder,
    warnings,
    port,
    dialSecurely: async (): Promise<TLSSocket> => {
      const socket = connect({ port, host: '127.0.0.1', ca: authority.cert })
      socket.on('error', () => undefined)
      await once(socket, 'secureConnect')
      return socket
    },
  }
}

test('a secure server speaks HTTPS at the URL it returns', async () => {
  const { listening, dialSecurely, port } = await start()
  expect(listening.url).toBe(`https://127.0.0.1:${port}`)
  const socket = await dialSecurely()
  socket.write(get)
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 [^]*fine$/)
})

test('a plain HTTP client is told that the port speaks HTTPS', async () => {
  const { port } = await start()
  const socket = await dial(port)
  socket.write(get)
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 [^]*This port speaks https\n$/)
})

test('a renewed certificate is used for new connections, and open ones are kept', async () => {
  const { authority, folder, dialSecurely, warnings } = await start()
  const before = await dialSecurely()
  const { serialNumber } = before.getPeerCertificate()
  await write(folder, await makeCertificate({ authority }))
  const after = await dialSecurely()
  expect(after.getPeerCertificate().serialNumber).not.toBe(serialNumber)
  before.write(get)
  expect(await readAll(before)).toContain('fine')
  expect(warnings).toEqual([])
})

test('the previous certificate is kept if the new one is unusable, and the reason is logged once', async () => {
  const { authority, folder, dialSecurely, warnings } = await start()
  const { serialNumber } = (await dialSecurely()).getPeerCertificate()
  const other = await makeCertificate({ authority })
  await write(folder, { key: other.key })
  for (let dialled = 0; dialled < 3; dialled++) {
    expect((await dialSecurely()).getPeerCertificate().serialNumber).toBe(serialNumber)
  }
  const [cert, key] = [join(folder, 'cert'), join(folder, 'key')]
  expect(warnings).toEqual([{ reason: `Cannot use ${key}: it is not the key for ${cert}` }])
  await write(folder, other)
  expect((await dialSecurely()).getPeerCertificate().serialNumber).not.toBe(serialNumber)
  expect(warnings).toHaveLength(1)
})

describe('the connection limits apply', () => {
  test('to a client that sends no head', async () => {
    // The handshake has as much time, and must not take all of it on a busy machine.
    const { dialSecurely } = await start({ headersTimeoutMs: 500 })
    const socket = await dialSecurely()
    socket.write('GET / HTTP/1.1\r\n')
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('to a client that begins no handshake', async () => {
    const { port } = await start({ headersTimeoutMs: 50 })
    expect(await readAll(await dial(port))).toBe('')
  })

  test('to a client that breaks the handshake off', async () => {
    const { port } = await start()
    const broken = await dial(port)
    broken.write(Buffer.from('160301ffff', 'hex'))
    // A TLS alert.
    expect(await readAll(broken)).toMatch(/^\u0015/)
  })

  test('to a client that opens all connections it can', async () => {
    const { port, dialSecurely } = await start({ connectionsMax: 4 })
    await dialSecurely()
    await dialSecurely()
    expect(await readAll(await dial(port))).toBe('')
  })

  test('to a client that is connected at shutdown, with or without a handshake', async () => {
    const { listening, port, dialSecurely } = await start({}, () => undefined)
    const silent = await dial(port)
    const asking = await dialSecurely()
    asking.write(get)
    await listening.close(0)
    expect(await readAll(silent)).toBe('')
    expect(await readAll(asking)).toBe('')
  })
})

describe('unusable certificate files', () => {
  const refusal = (paths: Parameters<typeof TlsFiles.open>[0]): Promise<unknown> =>
    TlsFiles.open(paths, { warn: () => undefined }).then(
      () => undefined,
      (error: unknown) => error,
    )

  test.each<[string, Partial<Certificate>, RegExp]>([
    ['a folder', {}, /^Cannot use \S+: it is a folder$/],
    ['a text', { cert: 'no PEM' }, /cert: it contains no certificate in PEM format$/],
    [
      'a certificate as key',
      { key: 'no PEM' },
      /key: it must contain a private key in PEM format, /,
    ],
  ])('are refused with the reason (%s)', async (name, given, message) => {
    const folder = await temporaryFolder()
    await write(folder, { ...(await makeCertificate()), ...given })
    const cert = name === 'a folder' ? folder : join(folder, 'cert')
    const error = await refusal({ cert, key: join(folder, 'key') })
    expect(error).toMatchObject({ code: 'cannot_read_file' })
    expect((error as Error).message).toMatch(message)
  })

  test('are refused if one is missing', async () => {
    const ca = join(await temporaryFolder(), 'ca')
    expect(await refusal({ ca })).toMatchObject({ code: 'cannot_read_file' })
  })
})
