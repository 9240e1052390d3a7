import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '../../../src/runtime/index.ts'
import type { PressureScenario } from '../scenario.ts'

const destinations = 60
const events = 50
const descriptors = 100
const program = new URL('../../delivery/deliver-with-few-descriptors.ts', import.meta.url)
const hooks = new URL('../../support/typescript.js', import.meta.url)

/** Up to 600 connections, in a process that has room for about 50. */
export const scenario: PressureScenario = {
  title: `${destinations} destinations, but only ${descriptors} file descriptors`,
  run: async () => {
    const server = createServer((request, response) => {
      request.resume()
      systemClock.schedule(20, () => response.end())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const args = [port, destinations, events].map(String)
    const node = [process.execPath, '--import', hooks.href, fileURLToPath(program), ...args]
    const shell = ['-c', `ulimit -n ${descriptors} && exec "$@"`, 'bash', ...node]
    const { stdout } = await promisify(execFile)('bash', shell, { timeout: 90_000 })
    server.closeAllConnections()
    server.close()
    const { delivered, shortages, breakers, warnings } = JSON.parse(stdout) as {
      readonly delivered: number
      readonly shortages: number
      readonly breakers: number
      readonly warnings: readonly unknown[]
    }
    return [
      {
        must: 'everything is delivered although file descriptors run out',
        measured: `${delivered} of ${destinations * events}, ${shortages} requests found no descriptor`,
        holds: delivered === destinations * events && shortages > 0,
      },
      {
        must: 'no endpoint is marked down, and the log reports the shortage once',
        measured: `${breakers} marked down, ${warnings.length} lines`,
        holds: breakers === 0 && warnings.length === 1,
      },
    ]
  },
}
