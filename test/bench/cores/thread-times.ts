// Node 20 tells the CPU of a process, but not that of each thread. Linux does.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/** The id of the thread that asks, in the operating system. */
export function ownThreadId(): string {
  return basename(readlinkSync('/proc/thread-self'))
}

/** The ids of all threads of this process. */
export function threadIds(): ReadonlySet<string> {
  return new Set(readdirSync('/proc/self/task'))
}

/** The CPU that a thread has used, in microseconds. */
export function threadCpuUs(id: string): number {
  const [runNs] = readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8').split(' ')
  return Number(runNs) / 1_000
}

/** The ids of the threads that were started since. */
export function newThreads(before: ReadonlySet<string>): readonly string[] {
  return [...threadIds()].filter((id) => !before.has(id))
}
