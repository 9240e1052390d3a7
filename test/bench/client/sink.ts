// Answers every batch at once with 200 and keeps it. Asked for it, it counts the calls that have come
// since it was asked last: that work is not done while anything is measured.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerQuestions } from '../program.ts'

/** What it is asked: for its port, or for the calls that have come since they were asked for last. */
export type SinkQuestion = 'port' | 'calls'

let bodies: Buffer[][] = []

const answer = Buffer.from('{"success":true}')
const headers = { 'content-type': 'application/json', 'content-length': answer.length }

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  bodies.push(chunks)
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    response.writeHead(200, headers)
    response.end(answer)
  })
})
server.keepAliveTimeout = 60_000

function countCalls(): number {
  const calls = bodies
    .map((chunks) => JSON.parse(Buffer.concat(chunks).toString()) as { batch: unknown[] })
    .reduce((count, { batch }) => count + batch.length, 0)
  bodies = []
  return calls
}

server.listen(0, '127.0.0.1', () => {
  answerQuestions((question: SinkQuestion) =>
    question === 'port' ? (server.address() as AddressInfo).port : countCalls(),
  )
})
