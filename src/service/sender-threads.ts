import { availableParallelism } from 'node:os'
import { SenderThreads } from '../webhook/index.ts'

/**
 * Minimum number of cores for a sender thread to have one of its own, beside the main thread, the store's thread and
 * the system.
 */
const coresMin = 4

/**
 * Returns the threads that send a service's webhooks; undefined if the main thread sends them.
 *
 * @param configured - the number of threads; null for one thread, or for none if the machine has fewer than four cores
 */
export function senderThreads(configured: number | null): SenderThreads | undefined {
  const threadsMax = configured ?? (availableParallelism() >= coresMin ? 1 : 0)
  return threadsMax === 0 ? undefined : new SenderThreads(threadsMax)
}
