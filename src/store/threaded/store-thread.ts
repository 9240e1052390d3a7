// The entry point of a store's worker thread.
import { parentPort, workerData } from 'node:worker_threads'
import { answerCalls } from './answer-calls.ts'
import type { ThreadSettings } from './thread-messages.ts'

if (parentPort !== null) void answerCalls(parentPort, workerData as ThreadSettings)
