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

Exit codes: 0 written, 2 usage, 7 a file exists already or cannot be written.`

/** Adds `evroute init`. */
export const addInitCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('init')
    .summary('write a starter configuration of a service')
    .description(
      'Writes a configuration that works on this machine, and new random secrets in evroute.secrets beside ' +
        'it. Prints the next steps. Replaces existing files only with --force.',
    )
    .option('--config <file>', 'the file to write', defaultConfigurationPath)
    .option('--force', 'replace existing files, secrets too')
    .option('--json', 'a record of the written files on stdout')
    .addHelpText('after', examples)
  command.action(async () => {
    const { config: path, force = false, json = false } = command.opts<InitFlags>()
    const { init } = await import('../configuration/init.ts')
    end(await init({ path, force, json }, io))
  })
}
