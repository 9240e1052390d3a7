// The program of a thread that several stores share.
import { parentPort, type MessagePort } from 'node:worker_threads'
import { answerStoreCalls } from '../../../src/store/threaded/store-thread-parts.ts'

parentPort?.on('message', (port: MessagePort) => answerStoreCalls(port))
