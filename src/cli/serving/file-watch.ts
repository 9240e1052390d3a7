import { readFile, stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../runtime/index.ts'

/** How often a file is looked at, in milliseconds. */
export const fileLookMs = 1_000

/**
 * Tells of every change of a file from the moment on that it resolves; that the file goes or comes back is
 * one too.
 *
 * @returns ends it
 */
export async function watchFile(
  path: string,
  changed: () => void,
  clock: Pick<Clock, 'schedule'>,
): Promise<() => void> {
  let seen = await versionOf(path)
  let hasEnded = false
  let timer: Timer | undefined
  const planLook = (): void => {
    if (!hasEnded) timer = clock.schedule(fileLookMs, () => void look())
  }
  const look = async (): Promise<void> => {
    const found = await versionOf(path)
    if (found !== seen && !hasEnded) changed()
    seen = found
    planLook()
  }
  planLook()
  return () => {
    hasEnded = true
    timer?.cancel()
  }
}

/** What differs after each change of a file; undefined while there is none. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const file = await stat(path, { bigint: true })
    // Two changes within a tick of the file system have the same time. What is in a pipe is read once only.
    const text = file.isFile() ? await readFile(path, 'utf8') : ''
    return `${file.ino} ${file.mtimeNs} ${text}`
  } catch {
    return undefined
  }
}
