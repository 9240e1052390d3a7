// Answers every webhook at once, but for those to /hang, which it never answers. Run in a process of
// its own, so that what is measured does not share its event loop.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((request, response) => {
  request.resume()
  if (request.url?.startsWith('/hang') === true) return
  request.on('end', () => response.end('ok'))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.on('disconnect', () => process.exit())
