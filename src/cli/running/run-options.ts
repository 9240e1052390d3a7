import { parseExpectation, type Expectation } from '../../match/index.ts'
import { EvrouteError, SettingError } from '../../model/index.ts'
import type { ReportFile } from '../expecting/expectation-flags.ts'
import type { Io } from '../io.ts'
import { readSecret } from '../secret.ts'
import type { RunOptions } from './run.ts'
import type { RunViewOptions } from './run-view.ts'

/** The flags, from commander. */
export interface RunFlags {
  readonly expect?: readonly string[]
  readonly count?: number
  readonly timeout?: number
  readonly respond?: readonly string[]
  readonly secret?: string
  readonly serve?: boolean
  readonly clock?: 'system' | 'virtual'
  readonly allowPending?: boolean
  readonly page?: boolean
  readonly hold?: boolean
  readonly save?: string
  readonly report?: readonly ReportFile[]
  readonly scenario?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly color: boolean
}

const timeoutMsDefault = 5_000

/**
 * Checks the flags, reads the secret, and parses the expectations.
 *
 * @throws SettingError, MatchError, EvrouteError `invalid_usage` without a command
 */
export async function readRunOptions(
  flags: RunFlags,
  [program, ...args]: readonly string[],
  io: Io,
): Promise<RunOptions> {
  if (program === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot run nothing: the command is missing',
      hint: 'Put it behind --, as in: evroute run -- npm test',
    })
  }
  if (flags.json === true) {
    throw new SettingError(
      '--json',
      'Cannot use --json together with a command: stdout is its own',
      'Pass --save <file> for records of what arrives.',
    )
  }
  const virtualClock = flags.clock === 'virtual'
  if (virtualClock && flags.serve !== true) {
    throw new SettingError(
      '--clock',
      'Cannot use --clock virtual without --serve: only a service waits',
      'Add --serve, or leave --clock out.',
    )
  }
  return {
    command: [program, ...args],
    virtualClock,
    hold: flags.hold ?? false,
    allowPending: flags.allowPending ?? false,
    secret: await readSecret(flags.secret, io),
    serve: flags.serve ?? false,
    respond: flags.respond,
    expectations: expectationsOf(flags),
    reports: flags.report ?? [],
    timeoutMs: flags.timeout ?? timeoutMsDefault,
    save: flags.save,
    ...viewOptionsOf(flags),
  }
}

function viewOptionsOf({
  page = false,
  quiet = false,
  verbose = false,
  color,
}: RunFlags): RunViewOptions {
  return { page, quiet, verbose, color }
}

function expectationsOf({ expect = [], count }: RunFlags): readonly Expectation[] {
  const expectations = expect.map((text) => parseExpectation(text))
  if (count === undefined) return expectations
  // A request that has a type is well-formed.
  return [
    ...expectations,
    { ...parseExpectation(`has:type x${count}..`), text: `--count ${count}` },
  ]
}
