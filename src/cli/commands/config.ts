import { defaultConfigurationPath } from '../flags.ts'
import type { AddCommand } from '../io.ts'

interface ConfigFlags {
  readonly config: string
  readonly json?: boolean
  readonly color: boolean
}

const examples = `
Examples:
  evroute config
  evroute config --config staging/evroute.config.json --json

Exit codes: 0 it can be used, 2 something in it is wrong, 7 it cannot be read.`

/** Adds `evroute config`. */
export const addConfigCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('config')
    .summary('check and show the configuration of a service')
    .description(
      'Prints every setting that is in force and where it comes from: the file, a default, env:NAME or ' +
        '@file. Secrets are masked. Of a file that `evroute serve` refuses it tells all that is wrong.',
    )
    .option('--config <file>', 'the configuration', defaultConfigurationPath)
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
  command.action(async () => {
    const { config: path, json = false, color } = command.opts<ConfigFlags>()
    const { showConfiguration } = await import('../configuration/show.ts')
    end(await showConfiguration({ path, json, color }, io))
  })
}
