import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { FindingCode } from '../../src/handler-check/index.ts'
import { signBody } from '../../src/webhook/index.ts'

export const secret = 'not-a-real-secret'

/** A request as a handler sees it. */
export interface HandledRequest {
  readonly headers: IncomingHttpHeaders
  /** The body as it arrived. */
  readonly chunks: readonly Buffer[]
  readonly rawBody: Buffer
}

/** A status code, or what the handler does instead of answering. */
export type Handled = number | 'hang' | 'hang-up' | 'redirect'

/** A wrong handler, and what a check says about it. */
export interface WrongHandler {
  readonly given: string
  readonly handle: (request: HandledRequest) => Handled
  readonly code: FindingCode
  readonly message: RegExp
  readonly cases: readonly string[]
  /** The codes of all findings; by default only `code`. */
  readonly codes?: readonly FindingCode[]
}

/**
 * Starts a node:http server with a handler until the test ends. If the handler throws, the server answers 500, or 400
 * if JSON.parse threw, as express does.
 */
export async function startHandler(handle: (request: HandledRequest) => Handled): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const handled = handledOrFailed(handle, {
        headers: request.headers,
        chunks,
        rawBody: Buffer.concat(chunks),
      })
      if (handled === 'hang') return
      if (handled === 'hang-up') request.socket.destroy()
      else if (handled === 'redirect') response.writeHead(308, { location: '/login' }).end()
      else response.writeHead(handled).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/webhooks`
}

function handledOrFailed(
  handle: (request: HandledRequest) => Handled,
  request: HandledRequest,
): Handled {
  try {
    return handle(request)
  } catch (error) {
    return error instanceof SyntaxError ? 400 : 500
  }
}

/** Makes a handler that compares the header with the signature that `sign` computes. */
export function comparing(sign: (rawBody: Buffer) => string): (request: HandledRequest) => Handled {
  return ({ headers, rawBody }) => (headers['x-signature'] === sign(rawBody) ? 200 : 401)
}

export const correct = comparing((rawBody) => signBody(rawBody, secret))

/** Makes a handler that accepts some webhooks unchecked, and is correct otherwise. */
export function correctExcept(
  isPassed: (request: HandledRequest, signature: string, right: string) => boolean,
): (request: HandledRequest) => Handled {
  return (request) => {
    const { headers, rawBody } = request
    const signature = String(headers['x-signature'] ?? '')
    const right = signBody(rawBody, secret)
    return isPassed(request, signature, right) || signature === right ? 200 : 401
  }
}

export function typeOf({ rawBody }: HandledRequest): unknown {
  return (JSON.parse(rawBody.toString()) as { type: unknown }).type
}

export function hmac(algorithm: string, key: string | Buffer, body: string | Buffer): Buffer {
  return createHmac(algorithm, key).update(body).digest()
}

export function sha1(body: Buffer): string {
  return createHash('sha1').update(body).digest('hex')
}

/** Compares as in the Node documentation. Throws if the lengths differ. */
export function isEqualOrThrows(
  header: string,
  right: string,
  encoding: 'hex' | 'utf8' = 'hex',
): boolean {
  return timingSafeEqual(Buffer.from(header, encoding), Buffer.from(right, encoding))
}
