import { readFile, stat } from 'node:fs/promises'
import type { Clock, Timer } from '../../runtime/index.ts'

/** Interval between two looks at a file, in milliseconds. */
export const fileLookMs = 1_000

/**
 * Calls back on every change of a file after the promise has resolved. Deleting and restoring the file are
 * changes too.
 *
 * @returns a function that stops watching
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

/** A text that differs after each change of a file; undefined if the file does not exist. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const file = await stat(path, { bigint: true })
    // Include the text: two changes within a tick of the file system have the same time. A pipe can be read
    // only once, so leave it out.
    const text = file.isFile() ? await readFile(path, 'utf8') : ''
    return `${file.ino} ${file.mtimeNs} ${text}`
  } catch {
    return undefined
  }
}
