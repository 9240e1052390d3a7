// The entry point of a store's worker thread.
import { parentPort } from 'node:worker_threads'
import { answerStoreCalls } from './store-thread-parts.ts'

if (parentPort !== null) answerStoreCalls(parentPort)
