import { openInput } from '../../importer/index.ts'
import { stoppable, type Io } from '../io.ts'
import { tellOfTerminalInput } from '../terminal-input.ts'

/**
 * The bytes of a file, or of stdin for `-`. When the command ends early, the iterator throws the signal's
 * reason. If it only ended, a part of a list would be taken for the whole list.
 *
 * @throws EvrouteError `cannot_read_file`
 */
export async function openListInput(path: string, io: Io): Promise<AsyncIterable<Uint8Array>> {
  tellOfTerminalInput([path], io)
  return breakingOff(await openInput(path, io.stdin), io.stop)
}

async function* breakingOff(
  input: AsyncIterable<Uint8Array>,
  stop: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = input[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await stoppable(chunks.next(), stop)
      stop.throwIfAborted()
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } finally {
    // If the next chunk never comes, closing would wait for it.
    const closed = chunks.return?.()
    if (!stop.aborted) await closed
  }
}
