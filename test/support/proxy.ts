import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Certificate } from './certificates.ts'

/** How a proxy handles CONNECT: opens the tunnel, answers with a status, never answers, or closes. */
export type TunnelPlan = 'open' | number | 'hang' | 'close'

/** A real forward proxy on a free port of 127.0.0.1. It resolves every host name to 127.0.0.1. */
export class TestProxy {
  /** The URL of the proxy, without credentials. */
  readonly url: string
  /** The CONNECT requests so far, in order. */
  readonly tunnels: { readonly target: string; readonly authorization: string | undefined }[] = []
  /** The number of requests with other methods. */
  others = 0
  /** Can be changed at any time. */
  plan: TunnelPlan
  /** The number of open tunnels, and its maximum so far. */
  open = 0
  openMax = 0

  private constructor(server: Server, plan: TunnelPlan) {
    this.plan = plan
    const scheme = 'setSecureContext' in server ? 'https' : 'http'
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('connect', (request, socket, head) => this.#serve(request, socket, head))
    server.on('request', (_request, response) => {
      this.others++
      response.writeHead(400).end()
    })
  }

  /** Starts a proxy that listens until the test ends. */
  static async start(plan: TunnelPlan = 'open', certificate?: Certificate): Promise<TestProxy> {
    const server = certificate === undefined ? createServer() : createSecureServer(certificate)
    const sockets = new Set<Socket>()
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    return new TestProxy(server, plan)
  }

  #serve({ url = '', headers }: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.tunnels.push({ target: url, authorization: headers['proxy-authorization'] })
    socket.on('error', () => undefined)
    if (this.plan === 'open') this.#tunnel(url, socket, head)
    else if (this.plan === 'close') socket.destroy()
    else if (this.plan !== 'hang')
      socket.end(`HTTP/1.1 ${this.plan} No\r\ncontent-length: 0\r\n\r\n`)
  }

  #tunnel(target: string, socket: Duplex, head: Buffer): void {
    const upstream = connect(Number(/:(\d+)$/.exec(target)?.[1]), '127.0.0.1', () => {
      this.openMax = Math.max(this.openMax, ++this.open)
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    upstream.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    socket.on('close', () => {
      upstream.destroy()
      this.open--
    })
  }
}
