import { systemClock } from '../../runtime/index.ts'
import { codeOfEnd } from '../code-of-end.ts'
import type { CommandContext } from '../command.ts'
import { gravest, type ExitCode } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { withReaders } from './open-readers.ts'
import { readOperationsPlace, type OperationsFlags } from './operations-flags.ts'
import type { OpenedReaders } from './store-readers.ts'

/** What a command that shows audiences or regulations works with. */
export interface ReadersRun extends OpenedReaders {
  /** Streams and the signal to end early. */
  readonly io: Io
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** How text on stdout is set apart. */
  readonly style: Style
  /** The width of stdout; undefined where lines may be of any length. */
  readonly columns: number | undefined
  /** When it is, in milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * Opens what the flags name, shows something of it, and ends the command.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError where it cannot be opened or asked
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
