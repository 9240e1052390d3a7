import { statSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import { EvrouteError } from '../../model/index.ts'

/**
 * A store that is read without permission to write, not even to the index of the log that readers
 * share. SQLite then expects that the file does not change. This class checks that.
 */
export class Snapshot {
  readonly #path: string
  readonly #stats: BigIntStats

  /** @throws EvrouteError `store_unusable` if part of the store is in a log */
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

  /**
   * @throws EvrouteError `store_unusable` if the file changed since, so that the rows may be a mix of
   * old and new ones
   */
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
