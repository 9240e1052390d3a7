import { parseExpectation, type Expectation } from '../../match/index.ts'
import { SettingError } from '../../model/index.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { usageError } from '../output/error.ts'
import { readSecret } from '../secret.ts'
import type { RunOptions } from './run.ts'

/** Checks the options, reads the secret, and parses the expectations. */
export async function readRunOptions(
  values: RunValues,
  [program, ...args]: readonly string[],
  io: Io,
): Promise<RunOptions> {
  if (program === undefined) {
    throw usageError('No command given', 'Put it behind --, as in: evroute run -- npm test')
  }
  if (values.json) {
    throw new SettingError(
      '--json',
      'Cannot use --json together with a command: stdout belongs to the command',
      'Pass --save <file> for records of what arrives.',
    )
  }
  const virtualClock = values.clock === 'virtual'
  if (virtualClock && !values.serve) {
    throw new SettingError(
      '--clock',
      'Cannot use --clock virtual without --serve: only a service waits',
      'Add --serve, or leave --clock out.',
    )
  }
  return {
    ...{ ...values, virtualClock },
    command: [program, ...args],
    secret: await readSecret(values.secret, io),
    expectations: expectationsOf(values),
  }
}

function expectationsOf({ expect = [], count }: RunValues): readonly Expectation[] {
  const expectations = expect.map((text) => parseExpectation(text))
  if (count === undefined) return expectations
  // A request that has a type is well-formed.
  return [
    ...expectations,
    { ...parseExpectation(`has:type x${count}..`), text: `--count ${count}` },
  ]
}
