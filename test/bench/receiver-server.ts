// The receiver, or an express app that only reads raw bodies: what the first argument says. Run in a
// process of its own, so that what is measured does not share its event loop.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { Receiver } from '../../src/receiver/index.ts'

const [variant, secret = ''] = process.argv.slice(2)

async function startReceiver(): Promise<number> {
  const receiver = new Receiver({ secret, strict: true })
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

const port = await (variant === 'receiver' ? startReceiver() : startExpress())
process.send?.(port)
process.on('disconnect', () => process.exit())
