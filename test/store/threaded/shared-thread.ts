// The program of a thread that several stores share.
import { parentPort } from 'node:worker_threads'
import { answerCalls } from '../../../src/store/threaded/answer-calls.ts'
import type { SharedThreadRequest } from './shared-threads.ts'

parentPort?.on('message', ({ port, settings }: SharedThreadRequest) => {
  void answerCalls(port, settings)
})
