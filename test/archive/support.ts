import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Archive, isAboutUsers, readArchive } from '../../src/archive/index.ts'
import type { ArchiveErasureRequest, ErasedFromArchive } from '../../src/archive/index.ts'
import { inflate } from '../../src/importer/index.ts'
import type { JsonObject } from '../../src/model/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Erasures cover the events accepted up to this moment. */
export const untilMs = Date.UTC(2026, 0, 2, 12)

/** A line of an archive. */
export function line(messageId: string, userId: string, changes: JsonObject = {}): string {
  const archived = { sourceId: 'website', receivedAt: '2026-01-02T11:00:00.000Z' }
  return `${JSON.stringify({ messageId, type: 'track', userId, ...changes, archived })}\n`
}

/** Compresses each text to a gzip member of its own. */
export function members(...texts: readonly string[]): Buffer {
  return Buffer.concat(texts.map((text) => gzipSync(text)))
}

/** A gzip member without text, longer than the 1 KiB that damage after it can make unreadable. */
export function emptyMember(): Buffer {
  const [header, text] = [gzipSync('').subarray(0, 10), gzipSync('').subarray(10)]
  // Flag 8: a file name follows the header.
  header[3] = 8
  return Buffer.concat([header, Buffer.from(`${'n'.repeat(2_048)}\0`), text])
}

/** Makes a folder for an archive of the source `website`, with functions to fill, read and erase it. */
export async function makeArchive() {
  const directory = await temporaryFolder()
  const source = join(directory, 'website')
  return {
    directory,
    /** Writes a file, `<day>/<name>`. */
    put: async (path: string, content: string | Buffer): Promise<string> => {
      const file = join(source, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
      return file
    },
    path: (path: string) => join(source, path),
    /** Every file and folder, in order. */
    names: async (): Promise<readonly string[]> =>
      (await readdir(source, { recursive: true })).toSorted(),
    /** All text that can be inflated in any file. */
    text: async (): Promise<string> => {
      const files = await readdir(source, { recursive: true, withFileTypes: true })
      const texts = files
        .filter((file) => file.isFile())
        .map(({ parentPath, name }) => textOf(join(parentPath, name)))
      return (await Promise.all(texts)).join('')
    },
    /** The messageIds that readers find, and the problems that they report. */
    read: async () => {
      const ids: unknown[] = []
      const problems: string[] = []
      for await (const part of readArchive(directory, 'website', {})) {
        ids.push(...part.rows.map(({ messageId }) => messageId))
        problems.push(...part.problems)
      }
      return { ids, problems }
    },
    /** Erases the user u_1, or the given users. */
    erase: (
      userIds: readonly string[] = ['u_1'],
      options: Partial<ArchiveErasureRequest> = {},
    ): Promise<ErasedFromArchive> =>
      new Archive(directory, untilMs).erase({
        sourceId: 'website',
        isErased: isAboutUsers(userIds, untilMs),
        signal: new AbortController().signal,
        ...options,
      }),
  }
}

/** As much of the text of a file as can be inflated. */
export async function textOf(path: string): Promise<string> {
  const texts: Buffer[] = []
  const bytes = await readFile(path)
  const input = (async function* () {
    yield* await Promise.resolve([bytes])
  })()
  for await (const part of inflate(input)) if (part.kind === 'text') texts.push(part.bytes)
  return Buffer.concat(texts).toString('utf8')
}
