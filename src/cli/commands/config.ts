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

Exit codes: 0 the configuration is valid, 2 it is not, 7 it cannot be read.`

/** Adds `evroute config`. */
export const addConfigCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('config')
    .summary('check and show the configuration of a service')
    .description(
      'Prints every setting and where it comes from: the file, a default, env:NAME or @file. Secrets are ' +
        'masked. If `evroute serve` would refuse the file, prints every problem.',
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
