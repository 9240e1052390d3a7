import { EventEmitter, once } from 'node:events'
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import type { Thread, ThreadCall } from '../../../src/threads/index.ts'

let shared: Worker | undefined

/** Like `startThread`, but with one thread for all stores of a test file, because starting one takes long. */
export function startSharedThread(): Thread {
  shared ??= new Worker(new URL('shared-thread.ts', import.meta.url))
  shared.unref()
  const { port1, port2 } = new MessageChannel()
  shared.postMessage(port2, [port2])
  return new PortThread(port1)
}

/** Makes a port look like a thread of its own. */
class PortThread extends EventEmitter implements Thread {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    super()
    this.#port = port
    port.on('message', (answers) => this.emit('message', answers))
    port.on('close', () => this.emit('exit', 0))
  }

  postMessage(calls: readonly ThreadCall[]): void {
    this.#port.postMessage(calls)
  }

  async terminate(): Promise<number> {
    const closed = once(this.#port, 'close')
    this.#port.close()
    await closed
    return 0
  }

  ref(): void {
    this.#port.ref()
  }

  unref(): void {
    this.#port.unref()
  }
}
