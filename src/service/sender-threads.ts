import { availableParallelism } from 'node:os'
import { SenderThreads } from '../webhook/index.ts'

/**
 * From so many cores on, a sender thread has a core of its own beside the main thread, the store's thread and
 * the system.
 */
const coresMin = 4

/**
 * Returns the threads that send a service's webhooks; undefined if its main thread does.
 *
 * @param configured - how many; null for one if the machine has enough cores
 */
export function senderThreads(configured: number | null): SenderThreads | undefined {
  const threadsMax = configured ?? (availableParallelism() >= coresMin ? 1 : 0)
  return threadsMax === 0 ? undefined : new SenderThreads(threadsMax)
}
