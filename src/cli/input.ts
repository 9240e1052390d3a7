import { ForeignFormatError, openInput } from '../importer/index.ts'
import { EvrouteError } from '../model/index.ts'
import { stoppableStream } from '../runtime/index.ts'
import type { Io } from './io.ts'

/** Says that a command is reading from the terminal. Otherwise it would seem to hang. */
export function tellOfTerminalInput(paths: readonly string[], io: Io): void {
  // Check the paths first: accessing stdin opens it, which takes time.
  if (!paths.includes('-') || io.stdin.isTTY !== true) return
  io.stderr.write(
    'Reading from the terminal. Press Ctrl-D to end the input, Ctrl-C to end the command.\n',
  )
}

/** Maximum size of a body: far above that of any webhook. It protects memory if a wrong file is given. */
const bodyBytesMax = 64 * 1024 * 1024

/** Reads the bytes of a file, or of stdin for `-`, and throws like {@link openInputOf}. */
export async function readBody(path: string, io: Io): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of await openInputOf(path, io)) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) {
      throw new EvrouteError({
        code: 'cannot_read_file',
        message: `Cannot read ${path}: it has more than ${bodyBytesMax} bytes`,
        hint: 'Check that this is the right file: a webhook is at most 1 MB.',
      })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Opens a file, or stdin for `-`, as a stream of bytes. If the command must end early, the iterator throws the reason,
 * so that an incomplete list never counts as complete. Throws `cannot_read_file`.
 */
export async function openInputOf(path: string, io: Io): Promise<AsyncIterable<Uint8Array>> {
  tellOfTerminalInput([path], io)
  return stoppableStream(await openInput(path, io.stdin), io.stop)
}

/** Yields the parts that are read from a file. An error about the file's format names the file. */
export async function* aboutFile<Part>(
  path: string,
  parts: AsyncIterable<Part>,
): AsyncGenerator<Part> {
  try {
    yield* parts
  } catch (error) {
    throw error instanceof ForeignFormatError && path !== '-' ? error.about(path) : error
  }
}
