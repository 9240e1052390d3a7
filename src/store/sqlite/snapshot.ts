import { statSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import { EvrouteError } from '../../model/index.ts'

/**
 * A store that is read where nothing may be written, not even the index of its log that readers share.
 * SQLite then takes the file as one that nobody changes; whether that is so is asked here.
 */
export class Snapshot {
  readonly #path: string
  readonly #stats: BigIntStats

  /** @throws EvrouteError `store_unusable` when the file alone is not the whole store */
  constructor(path: string) {
    this.#path = path
    this.#stats = statSync(path, { bigint: true })
    if (isLogEmpty(path)) return
    const folder = dirname(path)
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot read the store ${path}: a part of it is in ${path}-wal, which cannot be read where ${folder} may not be written`,
      hint: 'Read it as a user who may write that folder, or copy both files to a folder of yours and name the copy.',
    })
  }

  /** @throws EvrouteError `store_unusable` when what was read since may be a mix of old and new */
  expectUnchanged(): void {
    if (isLogEmpty(this.#path) && isSame(statSync(this.#path, { bigint: true }), this.#stats))
      return
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot read the store ${this.#path}: it was changed meanwhile`,
      hint: 'Try again.',
    })
  }
}

function isLogEmpty(path: string): boolean {
  const stats = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return stats === undefined || stats.size === 0
}

function isSame(stats: BigIntStats, known: BigIntStats): boolean {
  return (
    stats.dev === known.dev &&
    stats.ino === known.ino &&
    stats.size === known.size &&
    stats.mtimeNs === known.mtimeNs
  )
}
