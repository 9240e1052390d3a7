// Answers webhooks at once, except those to `/hang`, which it never answers, and counts them. Of HTTP, it
// finds only the end of each request. If it parsed more, it would be as busy as the senders, and limit the
// rate that is measured.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { systemClock } from '../../../dist/runtime/index.js'
import { answerQuestions } from '../program.ts'
import type { Arrivals, SinkAnswer, SinkQuestion } from './sink.ts'

const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok',
)
const endOfHead = '\r\n\r\n'

const nothing: Arrivals = { requests: 0, signed: 0, bodyBytes: 0 }

let arrivals = nothing
let firstSignedAtMs = 0
let awaited = { signed: 0, come: (): void => undefined }

/** A complete request at the start of a buffer. */
interface Framed {
  readonly head: string
  readonly bodyBytes: number
  /** Head and body together. */
  readonly bytes: number
}

function framed(bytes: Buffer): Framed | undefined {
  const headBytes = bytes.indexOf(endOfHead)
  if (headBytes < 0) return undefined
  const head = bytes.toString('latin1', 0, headBytes)
  const bodyBytes = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  const length = headBytes + endOfHead.length + bodyBytes
  return bytes.length < length ? undefined : { head, bodyBytes, bytes: length }
}

function serve(socket: Socket): void {
  let unread: Buffer = Buffer.alloc(0)
  socket.setNoDelay(true)
  // Senders may close their connections at any time.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
    for (let request = framed(unread); request !== undefined; request = framed(unread)) {
      unread = unread.subarray(request.bytes)
      take(request, socket)
    }
  })
}

function take({ head, bodyBytes }: Framed, socket: Socket): void {
  if (head.startsWith('POST /hang')) return
  const signed = /^x-signature: [0-9a-f]{40}$/im.test(head.replaceAll('\r', '')) ? 1 : 0
  arrivals = {
    requests: arrivals.requests + 1,
    signed: arrivals.signed + signed,
    bodyBytes: arrivals.bodyBytes + bodyBytes,
  }
  if (signed > 0) noteSigned()
  socket.write(answer)
}

function noteSigned(): void {
  if (arrivals.signed === 1) firstSignedAtMs = systemClock.nowMs()
  if (arrivals.signed === awaited.signed) awaited.come()
}

function arrivalOf(signed: number): Promise<void> {
  arrivals = nothing
  return new Promise((come) => (awaited = { signed, come }))
}

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer(serve)
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}

const { port } = (await listen()).address() as AddressInfo
answerQuestions(async (question: SinkQuestion): Promise<SinkAnswer> => {
  if (typeof question === 'object') await arrivalOf(question.signed)
  const sofar = arrivals
  if (question === 'arrivals') arrivals = nothing
  return { port, arrivals: sofar, firstSignedAtMs }
})
