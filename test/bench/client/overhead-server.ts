// An express app whose every request tracks a call, in a process of its own.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { answerQuestions, programSettings } from '../program.ts'
import { createTracker, type TrackerName, type TrackerSettings } from './tracker.ts'

/** What the calls are given to. */
export interface OverheadServerSettings extends TrackerSettings {
  readonly tracker: TrackerName
}

/** What it is asked: its port, to wait until all calls have been answered, or its CPU so far in microseconds. */
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
