// Answers every webhook at once, but for those to /hang, which it never answers. Run in a process of
// its own, so that what is measured does not share its event loop. Told a number, it tells when so many
// signed ones have come.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/runtime/index.ts'

let expected = 0
let arrived = 0
let firstAtMs = 0

function arrive(): void {
  arrived++
  if (arrived === 1) firstAtMs = systemClock.nowMs()
  if (arrived === expected) process.send?.({ firstAtMs })
}

const server = createServer((request, response) => {
  request.resume()
  if (request.url?.startsWith('/hang') === true) return
  if (request.headers['x-signature'] !== undefined) arrive()
  request.on('end', () => response.end('ok'))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.on('message', (count: number) => {
  expected = count
  arrived = 0
})
process.on('disconnect', () => process.exit())
