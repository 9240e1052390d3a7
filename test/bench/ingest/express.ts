// The limit: an express app that parses the JSON of a body and answers as the service does. It knows no
// write keys, checks no call and stores nothing.
import type { AddressInfo } from 'node:net'
import express, { type Request, type Response } from 'express'
import { answerQuestions } from '../program.ts'
import { answerOf, type ServerQuestion } from './answering.ts'

const app = express()
app.disable('x-powered-by')
app.disable('etag')
app.use(express.json({ limit: '1mb' }))
app.post('/v1/batch', (request: Request<object, object, { batch: unknown[] }>, response) => {
  succeed(response, request.body.batch.length)
})
app.post('/v1/track', (_, response) => succeed(response, 1))

function succeed(response: Response, accepted: number): void {
  response.json({ success: true, accepted, rejected: [] })
}

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  answerQuestions((question: ServerQuestion) => answerOf(question, `http://127.0.0.1:${port}`))
})
