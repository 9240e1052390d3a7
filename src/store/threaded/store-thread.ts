// The program of the thread of a store.
import { parentPort, workerData } from 'node:worker_threads'
import { answerCalls } from './answer-calls.ts'
import type { ThreadSettings } from './thread-messages.ts'

if (parentPort !== null) void answerCalls(parentPort, workerData as ThreadSettings)
