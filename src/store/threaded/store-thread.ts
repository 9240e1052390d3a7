// The program of the thread that a store works in.
import { parentPort, workerData } from 'node:worker_threads'
import { SqliteStore } from '../sqlite/sqlite-store.ts'
import { answerCalls } from './answer-calls.ts'
import type { ThreadSettings } from './thread-messages.ts'

const settings = workerData as ThreadSettings
if (parentPort !== null)
  void answerCalls(parentPort, settings, () => SqliteStore.open(settings.path))
