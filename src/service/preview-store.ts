import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AudienceStore } from '../audience/index.ts'
import { systemCode } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { openStore } from '../store/index.ts'

const prefix = 'evroute-preview-'

/**
 * An empty store for as long as the work takes: a list may be longer than memory. Its folder, which only
 * this user may open, carries the number of the process, so that what a process leaves behind that is
 * killed is removed by the next one.
 *
 * @throws EvrouteError `store_unusable`; whatever the work throws
 */
export async function withPreviewStore<Result>(
  clock: Clock,
  work: (scratch: AudienceStore) => Promise<Result>,
): Promise<Result> {
  await removeAbandonedPreviews(clock)
  const folder = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`))
  try {
    const store = await openStore(`sqlite:${join(folder, 'preview.db')}`)
    try {
      return await work(store.audiences)
    } finally {
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Removes what processes have left that were killed in a dry run. What cannot be removed stays. */
export async function removeAbandonedPreviews(clock: Clock): Promise<void> {
  const folder = tmpdir()
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const owner = /^\d+(?=-)/.exec(name.startsWith(prefix) ? name.slice(prefix.length) : '')?.[0]
    const path = join(folder, name)
    if (owner === undefined || !(await isAbandoned(path, Number(owner), clock))) continue
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

async function isAbandoned(path: string, owner: number, clock: Clock): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats?.isDirectory() !== true) return false
  // Others can make folders of that name too, and what is in them is not ours to follow.
  if (process.getuid !== undefined && stats.uid !== process.getuid()) return false
  if (owner !== process.pid) return !isAlive(owner)
  // In a container that was started again everybody has the number of before.
  const startedAtMs = clock.nowMs() - process.uptime() * 1_000
  return stats.mtimeMs < startedAtMs - clockSlackMs
}

/** What the times of files and of processes may differ by. */
const clockSlackMs = 1_000

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) !== 'ESRCH'
  }
}
