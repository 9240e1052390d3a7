import { rm } from 'node:fs/promises'

/** A store's file and those beside it. SQLite would apply a leftover log to the next file at this path. */
const suffixes = ['', '-wal', '-shm', '-lock']

/** Deletes a store, if there is one. */
export async function removeStore(path: string): Promise<void> {
  for (const suffix of suffixes) await rm(path + suffix, { force: true })
}
