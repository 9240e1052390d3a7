import type { AddressInfo } from 'node:net'
import express, { type Request, type Response } from 'express'
import { answerQuestions } from '../program.ts'
import { answerOf, type ServerQuestion } from './answering.ts'

/** Handles the calls of a request, then calls `answer`. */
type TakeCalls = (calls: readonly unknown[], answer: () => void) => void

/**
 * Serves an express app that parses JSON bodies and answers like the service. It checks neither write keys
 * nor calls.
 */
export function serveBareApp(take: TakeCalls): void {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(express.json({ limit: '1mb' }))
  app.post('/v1/batch', (request: Request<object, object, { batch: unknown[] }>, response) => {
    const { batch } = request.body
    take(batch, () => succeed(response, batch.length))
  })
  app.post('/v1/track', (request: Request<object, object, unknown>, response) => {
    take([request.body], () => succeed(response, 1))
  })
  const server = app.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    answerQuestions((question: ServerQuestion) => answerOf(question, `http://127.0.0.1:${port}`))
  })
}

function succeed(response: Response, accepted: number): void {
  response.json({ success: true, accepted, rejected: [] })
}
