import { systemClock } from '../../runtime/index.ts'
import { codeOfEnd } from '../code-of-end.ts'
import type { CommandContext } from '../command.ts'
import { gravest, type ExitCode } from '../exit-code.ts'
import type { LogFlags } from './log-flags.ts'
import { readPlace } from './log-place.ts'
import type { LogContext } from './open-log.ts'

/** The parameters of {@link runOnLog}. */
export interface LogRun {
  readonly flags: LogFlags
  /** Whether the command changes deliveries. */
  readonly write: boolean
  /** Streams, environment and the exit callback. */
  readonly context: CommandContext
}

/**
 * Opens the log that the flags name, runs the work, and sets the exit code.
 *
 * @throws SettingError if the flags name no log; EvrouteError if the log cannot be opened or the service does
 * not answer
 */
export async function runOnLog(
  { flags, write, context: { io, end } }: LogRun,
  work: (log: LogContext) => Promise<ExitCode>,
): Promise<void> {
  const place = await readPlace(flags, io)
  const view = { json: flags.json ?? false, color: flags.color }
  // Load the engines only now, so that help and usage errors appear at once.
  const { withDeliveryLog } = await import('./open-log.ts')
  const nowMs = systemClock.nowMs()
  const access = { write, reveal: flags.reveal ?? false, stop: io.stop }
  const code = await withDeliveryLog(place, access, (log) =>
    work({ log, place: place.kind, io, nowMs, view }),
  )
  end(gravest([code, codeOfEnd(io)]))
}
