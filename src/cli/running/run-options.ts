import { parseExpectation, type Expectation } from '../../match/index.ts'
import { EvrouteError, SettingError } from '../../model/index.ts'
import type { ReportFile } from '../expecting/expectation-flags.ts'
import type { Io } from '../io.ts'
import { readSecret } from '../secret.ts'
import type { RunOptions } from './run.ts'

/** The flags, from commander. */
export interface RunFlags extends Partial<
  Pick<
    RunOptions,
    | ('secret' | 'serve' | 'respond' | 'save' | 'allowPending' | 'hold')
    | ('page' | 'quiet' | 'verbose')
  >
> {
  readonly expect?: readonly string[]
  readonly count?: number
  readonly timeout?: number
  readonly clock?: 'system' | 'virtual'
  readonly report?: readonly ReportFile[]
  readonly scenario?: string
  readonly json?: boolean
  readonly color: boolean
}

const defaults = {
  ...{ serve: false, allowPending: false, hold: false },
  ...{ page: false, quiet: false, verbose: false },
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
      message: 'No command given',
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
    ...{ ...defaults, ...flags, virtualClock },
    command: [program, ...args],
    secret: await readSecret(flags.secret, io),
    expectations: expectationsOf(flags),
    reports: flags.report ?? [],
    timeoutMs: flags.timeout ?? timeoutMsDefault,
  }
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
