import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A receiver in a process of its own. */
export interface BenchReceiver {
  /** Where it answers, without a slash at the end. */
  readonly origin: string
  /**
   * Waits until so many signed webhooks have come from now on.
   *
   * @returns when the first of them came, in milliseconds since 1970
   */
  readonly arrivals: (count: number) => Promise<number>
  /** Ends it. */
  readonly stop: () => void
}

/** Starts one on a free port of this machine. */
export async function startReceiver(): Promise<BenchReceiver> {
  const child = fork(fileURLToPath(new URL('receiver.ts', import.meta.url)))
  const [port] = (await once(child, 'message')) as [number]
  return {
    origin: `http://127.0.0.1:${port}`,
    arrivals: async (count) => {
      child.send(count)
      const [{ firstAtMs }] = (await once(child, 'message')) as [{ readonly firstAtMs: number }]
      return firstAtMs
    },
    stop: () => child.disconnect(),
  }
}
