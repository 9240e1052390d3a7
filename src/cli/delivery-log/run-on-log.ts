import { systemClock } from '../../runtime/index.ts'
import { codeOfEnd } from '../code-of-end.ts'
import type { CommandContext } from '../command.ts'
import { gravest, type ExitCode } from '../exit-code.ts'
import type { LogFlags } from './log-flags.ts'
import { readPlace } from './log-place.ts'
import type { LogContext } from './open-log.ts'

/** What a command about deliveries is run with. */
export interface LogRun {
  /** Its flags. */
  readonly flags: LogFlags
  /** Whether it changes deliveries. */
  readonly write: boolean
  /** Streams, environment and the way to end. */
  readonly context: CommandContext
}

/**
 * Opens the log that the flags name, does the work, and ends the command.
 *
 * @throws SettingError for flags that name no log; EvrouteError where it cannot be opened or asked
 */
export async function runOnLog(
  { flags, write, context: { io, end } }: LogRun,
  work: (log: LogContext) => Promise<ExitCode>,
): Promise<void> {
  const place = await readPlace(flags, io)
  const view = { json: flags.json ?? false, color: flags.color }
  // Loaded only now, with the engines behind it, so that help and usage errors come at once.
  const { withDeliveryLog } = await import('./open-log.ts')
  const nowMs = systemClock.nowMs()
  const access = { write, reveal: flags.reveal ?? false, stop: io.stop }
  const code = await withDeliveryLog(place, access, (log) =>
    work({ log, place: place.kind, io, nowMs, view }),
  )
  end(gravest([code, codeOfEnd(io)]))
}
