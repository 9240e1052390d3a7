// An express app whose every request tracks a call, in a process of its own.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { answerQuestions, programSettings } from '../program.ts'
import { createTracker, type TrackerName, type TrackerSettings } from './tracker.ts'

/** What the calls are given to. */
export interface OverheadServerSettings extends TrackerSettings {
  readonly tracker: TrackerName
}

/** What it is asked: for its port, or to wait until all calls have been answered. */
export type OverheadServerQuestion = 'port' | 'flush'

const { tracker: name, ...settings } = programSettings() as OverheadServerSettings
const tracker = await createTracker(name, settings)

const app = express()
app.get('/orders/:orderId', ({ params: { orderId } }, response) => {
  tracker.track({ userId: `user-${orderId}`, event: 'Order Viewed', properties: { orderId } })
  response.json({ orderId, status: 'shipped' })
})

const server = app.listen(0, '127.0.0.1', () => {
  answerQuestions(async (question: OverheadServerQuestion) => {
    if (question === 'port') return (server.address() as AddressInfo).port
    await tracker.flush()
    return 0
  })
})
