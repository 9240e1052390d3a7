import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Database } from '../../../src/store/postgres/database.ts'

/** A message of PostgreSQL's protocol: its type, its length and its content. */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length + 4)
  return Buffer.concat([Buffer.from(type), length, content])
}

/** The end of a handshake and of the connection in one packet, as from a server that is shut down. */
const goodbye = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('Z', Buffer.from('I')),
  message(
    'E',
    Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
  ),
])

test.each(['a statement', 'a script', 'a transaction'])(
  '%s fails, and the process continues, if the server ends a new connection',
  async (kind) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(goodbye))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const url = `postgres://evroute@127.0.0.1:${port}/evroute`
    const database = new Database(url, { connectionsMax: 1, isReadOnly: false })
    onTestFinished(() => database.close())
    const query = { sql: 'SELECT 1', values: [] }
    const work = {
      'a statement': () => database.rows(query),
      'a script': () => database.script(['SELECT 1']),
      'a transaction': () => database.transaction((session) => session.rows(query)),
    }[kind]!
    await expect(work()).rejects.toMatchObject({ code: 'store_unusable' })
  },
)
