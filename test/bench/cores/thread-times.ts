// Node 20 reports the CPU time of a process, but not that of a thread. Linux does, in `/proc`.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/** The operating system's id of the calling thread. */
export function ownThreadId(): string {
  return basename(readlinkSync('/proc/thread-self'))
}

/** The ids of all threads of this process. */
export function threadIds(): ReadonlySet<string> {
  return new Set(readdirSync('/proc/self/task'))
}

/** The CPU time that a thread has used, in microseconds. */
export function threadCpuUs(id: string): number {
  const [runNs] = readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8').split(' ')
  return Number(runNs) / 1_000
}

/** The ids of the threads that are not in `before`. */
export function newThreads(before: ReadonlySet<string>): readonly string[] {
  return [...threadIds()].filter((id) => !before.has(id))
}
