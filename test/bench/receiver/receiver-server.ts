// The receiver, or an express app that only reads raw bodies, in its own process.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { Receiver } from '../../../dist/receiver/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { sampleSecret } from '../sample-webhook.ts'

/** Which server to start. `limit` verifies no signatures and keeps nothing. */
export type ReceiverName = 'evroute' | 'limit'

/** Asks for the port, or for the CPU time so far, in milliseconds. */
export type ReceiverQuestion = 'port' | 'cpuMs'

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

async function startReceiver(): Promise<number> {
  const receiver = new Receiver({ secret: sampleSecret, strict: true })
  return (await receiver.start()).port
}

function startExpress(): Promise<number> {
  const app = express()
  app.use(express.raw({ type: () => true, limit: '1mb', inflate: false }))
  app.post('/', (_request, response) => {
    response.json({ ok: true })
  })
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => {
      resolve((server.address() as AddressInfo).port)
    })
  })
}

const port = await (programSettings() === 'evroute' ? startReceiver() : startExpress())
answerQuestions((question: ReceiverQuestion) => (question === 'port' ? port : cpuMs()))
