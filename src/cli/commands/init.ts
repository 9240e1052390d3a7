import { defaultConfigurationPath } from '../flags.ts'
import type { AddCommand } from '../io.ts'

interface InitFlags {
  readonly config: string
  readonly force?: boolean
  readonly json?: boolean
}

const examples = `
Examples:
  evroute init
  evroute init --config staging/evroute.config.json

Exit codes: 0 written, 2 usage, 7 a file is there already or cannot be written.`

/** Adds `evroute init`. */
export const addInitCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('init')
    .summary('write a starter configuration of a service')
    .description(
      'Writes a configuration that works on this machine, new random secrets in evroute.secrets beside ' +
        'it, and says how to go on. Nothing that is there is replaced without --force.',
    )
    .option('--config <file>', 'the file to write', defaultConfigurationPath)
    .option('--force', 'replace the files that are there, secrets too')
    .option('--json', 'a record of what was written, on stdout')
    .addHelpText('after', examples)
  command.action(async () => {
    const { config: path, force = false, json = false } = command.opts<InitFlags>()
    const { init } = await import('../configuration/init.ts')
    end(await init({ path, force, json }, io))
  })
}
