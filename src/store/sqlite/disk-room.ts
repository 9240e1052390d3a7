import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** Bytes that are free on the disk of a file; Infinity where the system does not tell. */
export function freeBytesBeside(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

/** A size as people read it. */
export function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
