import { rm } from 'node:fs/promises'

/** What a store may leave beside its file: a log that is left would be taken for that of the next file there. */
const suffixes = ['', '-wal', '-shm', '-lock']

/** Takes a store away, if there is one. */
export async function removeStore(path: string): Promise<void> {
  for (const suffix of suffixes) await rm(path + suffix, { force: true })
}
