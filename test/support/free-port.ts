import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to connections and to servers on port 0, so that no other process takes a free port
 * before a test uses it. Test processes begin at different ports.
 */
let nextPort = 20_000 + 100 * (process.pid % 120)

/** Returns the first of `count` consecutive ports on which nothing listens. */
export async function freePort(count = 1): Promise<number> {
  let found = 0
  while (found < count) found = (await isFree(nextPort++)) ? found + 1 : 0
  return nextPort - count
}

/** Returns the URL of a port on which nothing listens. */
export async function unreachableUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/hook`
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
