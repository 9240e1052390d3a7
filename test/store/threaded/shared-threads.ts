import { EventEmitter } from 'node:events'
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import type { StoreThread } from '../../../src/store/threaded/start-thread.ts'
import type { ThreadRequest, ThreadSettings } from '../../../src/store/threaded/thread-messages.ts'

/** Asks the shared thread to open a store: the port for its calls, and its settings. */
export interface SharedThreadRequest {
  readonly port: MessagePort
  readonly settings: ThreadSettings
}

let shared: Worker | undefined

/** Like `startThread`, but with one thread for all stores of a test file, because starting one takes long. */
export function startSharedThread(settings: ThreadSettings): StoreThread {
  shared ??= new Worker(new URL('shared-thread.ts', import.meta.url))
  shared.unref()
  const { port1, port2 } = new MessageChannel()
  const request: SharedThreadRequest = { port: port2, settings }
  shared.postMessage(request, [port2])
  return new PortThread(port1)
}

/** Makes a port look like a thread of its own. */
class PortThread extends EventEmitter implements StoreThread {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    super()
    this.#port = port
    port.on('message', (answers) => this.emit('message', answers))
    port.on('close', () => this.emit('exit', 0))
  }

  postMessage(requests: readonly ThreadRequest[]): void {
    this.#port.postMessage(requests)
  }

  ref(): void {
    this.#port.ref()
  }

  unref(): void {
    this.#port.unref()
  }
}
