import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** The free bytes on the disk of a file; Infinity if the system does not say. */
export function freeBytesBeside(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

/** A size for messages. */
export function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
