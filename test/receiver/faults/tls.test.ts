import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TlsKind } from '../../../src/receiver/index.ts'
import type { RequestOutcome } from '../../../src/webhook/index.ts'
import { runSource } from '../../support/run-source.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { postTo } from '../../webhook/post-to.ts'
import { dial, secret, signed, start, trackBody } from '../requests.ts'

/** Posts once to the receiver from a process that trusts the receiver's authority. */
async function postTrusting(url: string, authority: string): Promise<RequestOutcome> {
  const file = join(await temporaryFolder(), 'authority.pem')
  await writeFile(file, authority)
  const program = new URL('../../webhook/post-to-each.ts', import.meta.url)
  const [outcome] = JSON.parse(
    await runSource(program, [`${url}/status/200`], { NODE_EXTRA_CA_CERTS: file }),
  ) as RequestOutcome[]
  return outcome!
}

describe('a receiver with TLS', () => {
  test('has a valid certificate for clients that trust its authority', async () => {
    const { receiver, url, authority } = await start({ tls: 'valid' })
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(await postTrusting(url, authority!)).toMatchObject({ kind: 'answered', status: 200 })
    expect(receiver.counts.received).toBe(1)
  })

  test.each<[TlsKind, string]>([
    ['expired', 'CERT_HAS_EXPIRED'],
    ['wrong-host', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('%s has only that fault for clients that trust its authority', async (tls, code) => {
    const { receiver, url, authority } = await start({ tls })
    const refused = { kind: 'certificate_refused', code }
    expect(await postTrusting(url, authority!)).toMatchObject(refused)
    expect(receiver.counts.received).toBe(0)
  })

  test.each<[TlsKind, string]>([
    ['self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['valid', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ])(
    '%s is refused by clients without its authority, and no request is sent',
    async (tls, code) => {
      const { receiver, url } = await start({ tls })
      expect(await postTo({ url })()).toMatchObject({ kind: 'certificate_refused', code })
      expect(receiver.counts.received).toBe(0)
    },
  )

  test('self-signed has no authority', async () => {
    expect((await start({ tls: 'self-signed' })).authority).toBeNull()
    expect((await start()).authority).toBeNull()
  })

  test.each(['127.0.0.1', 'localhost'])('is valid for %s', async (host) => {
    const { port, authority } = await start({ tls: 'valid' })
    const dispatcher = new Agent({ connect: { ca: authority! } })
    onTestFinished(() => dispatcher.destroy())
    const options = { method: 'POST', body: trackBody, dispatcher } as const
    const response = await request(`https://${host}:${port}`, options)
    expect(response.statusCode).toBe(200)
    await response.body.dump()
  })

  test('is valid for ::1', async () => {
    const { url, authority } = await start({ tls: 'valid', host: '::1' })
    const dispatcher = new Agent({ connect: { ca: authority! } })
    onTestFinished(() => dispatcher.destroy())
    const response = await request(url, { method: 'POST', body: trackBody, dispatcher })
    expect(response.statusCode).toBe(200)
    await response.body.dump()
  })

  test('checks signatures and keeps connections open, as without TLS', async () => {
    const { receiver, url, authority } = await start({ tls: 'valid', secret })
    const dispatcher = new Agent({ connect: { ca: authority! }, connections: 1 })
    onTestFinished(() => dispatcher.destroy())
    for (let turn = 0; turn < 3; turn += 1) {
      const options = { method: 'POST', body: trackBody, headers: signed(trackBody) } as const
      const response = await request(url, { ...options, dispatcher })
      await response.body.dump()
    }
    expect(receiver.counts).toMatchObject({ received: 3, valid: 3 })
  })

  test.each([
    { fault: 'reset', error: 'ECONNRESET' },
    { fault: 'empty', error: undefined },
    { fault: 'malformed', error: undefined },
  ] as const)('injects faults: $fault', async ({ fault, error }) => {
    const { receiver, port, authority } = await start({ tls: 'valid', fault })
    const socket = connectTls({ port, host: '127.0.0.1', ca: authority! })
    let found: string | undefined
    socket.on('error', ({ code }: NodeJS.ErrnoException) => (found = code))
    await once(socket, 'secureConnect')
    const closed = new Promise((resolve) => socket.resume().once('close', resolve))
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${trackBody.length}\r\n\r\n${trackBody}`,
    )
    await closed
    expect(found).toBe(error)
    expect(receiver.events).toMatchObject([{ injected: fault }])
  })

  test('survives clients that do not speak TLS or disconnect', async () => {
    const { receiver, port, url } = await start({ tls: 'self-signed' })
    const plain = await dial(port)
    plain.resume().write('POST / HTTP/1.1\r\n\r\n')
    await once(plain, 'close')
    const leaving = await dial(port)
    leaving.destroy()
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
    onTestFinished(() => dispatcher.destroy())
    const response = await request(url, { method: 'POST', body: trackBody, dispatcher })
    await response.body.dump()
    expect(receiver.counts.received).toBe(1)
  })

  test('closes while a silent client is connected', async () => {
    const { receiver, port } = await start({ tls: 'self-signed' })
    const silent = await dial(port)
    const closed = once(silent.resume(), 'close')
    await receiver.close()
    await closed
  })
})
