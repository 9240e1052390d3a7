// Answers every batch at once with 200 and keeps it. It counts the calls only when asked, so that it doesn't
// parse during a measurement. Of HTTP, it finds only the end of each request: a busy collector on the same
// machine would distort the measurement.
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { answerQuestions } from '../program.ts'

/** Asks for the port, or for the number of calls since the last such question. */
export type SinkQuestion = 'port' | 'calls'

const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"success":true}',
)
const endOfHead = '\r\n\r\n'

let bodies: Buffer[] = []

/** Where the body of a request begins and ends; undefined until its head has arrived. */
function bodyAt(bytes: Buffer): { readonly begin: number; readonly end: number } | undefined {
  const headBytes = bytes.indexOf(endOfHead)
  if (headBytes < 0) return undefined
  const length = /^content-length: (\d+)/im.exec(bytes.toString('latin1', 0, headBytes))?.[1]
  if (length === undefined) throw new Error('A request has no Content-Length')
  const begin = headBytes + endOfHead.length
  return { begin, end: begin + Number(length) }
}

function serve(socket: Socket): void {
  let chunks: Buffer[] = []
  let bytes = 0
  let awaitedBytes = 0
  socket.setNoDelay(true)
  // Clients may close their connections at any time.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < awaitedBytes) return
    let unread = chunks.length === 1 ? chunk : Buffer.concat(chunks)
    let body = bodyAt(unread)
    for (; body !== undefined && body.end <= unread.length; body = bodyAt(unread)) {
      bodies.push(unread.subarray(body.begin, body.end))
      unread = unread.subarray(body.end)
      socket.write(answer)
    }
    chunks = unread.length === 0 ? [] : [unread]
    bytes = unread.length
    awaitedBytes = body?.end ?? 0
  })
}

function countCalls(): number {
  const calls = bodies
    .map((body) => JSON.parse(body.toString()) as { batch: unknown[] })
    .reduce((count, { batch }) => count + batch.length, 0)
  bodies = []
  return calls
}

const server = createServer(serve)
server.listen(0, '127.0.0.1', () => {
  answerQuestions((question: SinkQuestion) =>
    question === 'port' ? (server.address() as AddressInfo).port : countCalls(),
  )
})
