// An express app, in its own process, that tracks a call in each request.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { answerQuestions, programSettings } from '../program.ts'
import { createTracker, type TrackerName, type TrackerSettings } from './tracker.ts'

/** Settings of the app: which tracker takes its calls. */
export interface OverheadServerSettings extends TrackerSettings {
  readonly tracker: TrackerName
}

/**
 * Asks for the port, for a flush that waits until all calls are answered, or for the CPU time so far, in
 * microseconds.
 */
export type OverheadServerQuestion = 'port' | 'flush' | 'cpu'

const { tracker: name, ...settings } = programSettings() as OverheadServerSettings
const tracker = await createTracker(name, settings)

const app = express()
app.get('/orders/:orderId', ({ params: { orderId } }, response) => {
  tracker.track({ userId: `user-${orderId}`, event: 'Order Viewed', properties: { orderId } })
  response.json({ orderId, status: 'shipped' })
})

const server = app.listen(0, '127.0.0.1', () => {
  answerQuestions(async (question: OverheadServerQuestion) => {
    switch (question) {
      case 'port':
        return (server.address() as AddressInfo).port
      case 'flush':
        await tracker.flush()
        return 0
      case 'cpu': {
        const { user, system } = process.cpuUsage()
        return user + system
      }
    }
  })
})
