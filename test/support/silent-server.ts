import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { gate } from './gate.ts'

/** Starts a server that accepts connections and never answers. `asked` resolves when the first bytes arrive. */
export async function silentServer(): Promise<{
  readonly requested: Promise<void>
  readonly port: number
}> {
  const requested = gate()
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', requested.open)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { requested: requested.opened, port }
}
