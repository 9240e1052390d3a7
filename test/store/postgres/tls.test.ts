import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Database } from '../../../src/store/postgres/database.ts'
import { Notifications } from '../../../src/store/postgres/notifications.ts'
import { makeAuthority, makeCertificate, type Certificate } from '../../support/certificates.ts'
import { PostgresServer } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let server: PostgresServer
let authority: Certificate

beforeAll(async () => {
  ;[server, authority] = await Promise.all([PostgresServer.start(), makeAuthority()])
  const admin = databaseAt(server.url())
  await admin.rows({ sql: "CREATE ROLE strict LOGIN PASSWORD 'right'", values: [] })
  await admin.close()
})

afterAll(() => server.end())

/** Terminates TLS in front of the server, whose socket has none. Without a certificate, it refuses TLS. */
class Front {
  readonly port: number
  readonly #sockets: ReadonlySet<Socket>

  private constructor(port: number, sockets: ReadonlySet<Socket>) {
    this.port = port
    this.#sockets = sockets
  }

  static async with(certificate: Certificate | undefined): Promise<Front> {
    const sockets = new Set<Socket>()
    const listener = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
      socket.once('data', () => {
        if (certificate === undefined) socket.end('N')
        else forward(socket, certificate)
      })
    })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    onTestFinished(() => void listener.close())
    return new Front((listener.address() as AddressInfo).port, sockets)
  }

  /** The number of open connections. */
  get open(): number {
    return this.#sockets.size
  }

  url(
    parameters: Readonly<Record<string, string>>,
    { user = 'postgres', host = '127.0.0.1' } = {},
  ) {
    const query = new URLSearchParams(parameters).toString()
    return `postgres://${user}@${host}:${this.port}/postgres?${query}`
  }
}

function forward(socket: Socket, { cert, key }: Certificate): void {
  socket.write('S')
  const client = new TLSSocket(socket, { isServer: true, cert, key })
  const upstream = connect(join(server.socketFolder, '.s.PGSQL.5432'))
  client.on('error', () => upstream.destroy())
  upstream.on('error', () => client.destroy())
  client.pipe(upstream).pipe(client)
}

async function authorityFile(): Promise<string> {
  const file = join(await temporaryFolder(), 'authority.pem')
  await writeFile(file, authority.cert)
  return file
}

function databaseAt(url: string): Database {
  return new Database(url, { connectionsMax: 1, isReadOnly: false })
}

async function answerOf(url: string): Promise<unknown> {
  const database = databaseAt(url)
  onTestFinished(() => database.close())
  return await database.rows({ sql: 'SELECT 1 AS answer', values: [] })
}

describe('a server that speaks TLS', () => {
  test.each(['require', 'verify-ca', 'verify-full'])(
    'is connected to if its authority is known, with %s',
    async (sslmode) => {
      const front = await Front.with(await makeCertificate({ authority }))
      const parameters = { sslmode, sslrootcert: await authorityFile() }
      expect(await answerOf(front.url(parameters))).toEqual([{ answer: 1 }])
    },
  )

  const refused: readonly (readonly [string, () => Promise<Certificate | undefined>, string])[] = [
    ['with a certificate from an unknown authority', () => makeCertificate(), 'sslrootcert'],
    [
      'with a certificate for a different host',
      () => makeCertificate({ authority, host: 'db.test' }),
      'a host name',
    ],
    [
      'with an expired certificate',
      () => makeCertificate({ authority, expiresInMs: -1_000 }),
      'Renew',
    ],
    ['if it refuses TLS', () => Promise.resolve(undefined), 'ssl = on'],
  ]

  test.each(refused)('is not sent anything %s', async (_why, made, hint) => {
    const front = await Front.with(await made())
    const parameters = { sslmode: 'require', sslrootcert: await authorityFile() }
    await expect(answerOf(front.url(parameters))).rejects.toMatchObject({
      code: 'store_unusable',
      isTemporary: false,
      hint: expect.stringContaining(hint) as string,
    })
  })

  test('has its connection closed at once if the client gives up', async () => {
    const front = await Front.with(await makeCertificate({ authority }))
    const parameters = { sslmode: 'verify-full', sslrootcert: await authorityFile() }
    const answer = answerOf(front.url(parameters, { user: 'strict' }))
    await expect(answer).rejects.toMatchObject({
      hint: expect.stringContaining('password') as string,
    })
    // The server would close it only after a minute.
    await vi.waitUntil(() => front.open === 0, { timeout: 20_000 })
  })
})

describe("while the authority's file is missing", () => {
  test('every statement fails temporarily', async () => {
    const front = await Front.with(await makeCertificate({ authority }))
    const database = databaseAt(front.url({ sslrootcert: '/missing.pem' }))
    onTestFinished(() => database.close())
    const failure = {
      code: 'store_unusable',
      isTemporary: true,
      hint: expect.stringContaining('sslrootcert') as string,
    }
    await expect(database.script(['SELECT 1'])).rejects.toMatchObject(failure)
    await expect(database.rows({ sql: 'SELECT 1', values: [] })).rejects.toMatchObject(failure)
    await expect(database.transaction(() => Promise.resolve())).rejects.toMatchObject(failure)
  })

  test('notifications wait for it, and arrive once it exists', async () => {
    const front = await Front.with(await makeCertificate({ authority }))
    const sslrootcert = join(await temporaryFolder(), 'later.pem')
    const database = databaseAt(server.url())
    const url = front.url({ sslrootcert })
    const heard = new Promise<void>((resolve) => {
      const notifications = new Notifications(database, {
        url,
        holder: 1,
        onNotification: () => resolve(),
      })
      onTestFinished(async () => {
        await notifications.close()
        await database.close()
      })
    })
    await writeFile(sslrootcert, authority.cert)
    await heard
  })
})
