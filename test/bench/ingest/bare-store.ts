// A minimal app that answers once the calls are on disk. A thread writes the calls of each request as text,
// one row per request. Its table can't be used to send, look up or count calls.
import { Worker } from 'node:worker_threads'
import { programSettings } from '../program.ts'
import type { ServerSettings } from './answering.ts'
import { serveBareApp } from './bare-app.ts'
import type { StoredCalls } from './bare-store-thread.ts'

const { path } = programSettings() as ServerSettings
const thread = new Worker(new URL('bare-store-thread.ts', import.meta.url), { workerData: path })
const answers = new Map<number, () => void>()
let lastId = 0

thread.on('message', (ids: readonly number[]) => {
  for (const id of ids) {
    answers.get(id)?.()
    answers.delete(id)
  }
})

serveBareApp((calls, answer) => {
  const stored: StoredCalls = {
    id: ++lastId,
    text: calls.map((call) => JSON.stringify(call)).join('\n'),
  }
  answers.set(stored.id, answer)
  thread.postMessage(stored)
})
