import { systemClock } from '../../runtime/index.ts'
import { codeOfEnd } from '../code-of-end.ts'
import type { CommandContext } from '../command.ts'
import { gravest, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { withReaders } from './open-readers.ts'
import { readOperationsPlace, type OperationsFlags } from './operations-flags.ts'
import type { OpenedReaders } from './store-readers.ts'

/** The context of a command that shows audiences or regulations. */
export interface ReadersRun extends OpenedReaders {
  /** Streams and stop signal. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** The style of text on stdout. */
  readonly style: Style
  /** The width of stdout; undefined if lines may have any length. */
  readonly columns: number | undefined
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * Opens what the flags name, runs the work, and sets the exit code.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError if the store cannot be opened or the
 * service does not answer
 */
export async function runReaders(
  {
    flags,
    context: { io, end },
  }: { readonly flags: OperationsFlags; readonly context: CommandContext },
  work: (run: ReadersRun) => Promise<ExitCode>,
): Promise<void> {
  const place = await readOperationsPlace(flags, io)
  const { json = false, color } = flags
  const style = await createStyle(wantsColor(io, io.stdout, color))
  const columns = io.stdout.isTTY === true ? io.stdout.columns : undefined
  const nowMs = systemClock.nowMs()
  const code = await withReaders(place, io, (readers) =>
    work({ ...readers, io, json, style, columns, nowMs }),
  )
  end(gravest([code, codeOfEnd(io)]))
}
