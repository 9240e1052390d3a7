import { Option, type Command } from 'commander'

/** The descriptions of flags that differ between commands. */
export interface OutputTexts {
  readonly quiet?: string
  readonly verbose?: string
}

/** Adds the flags for output, in their own group. */
export function addOutputFlags(command: Command, texts: OutputTexts = {}): Command {
  const { quiet = 'print only the result', verbose = 'print a line for every request' } = texts
  return command
    .optionsGroup('Output:')
    .option('--json', 'write NDJSON records to stdout')
    .option('-q, --quiet', quiet)
    .addOption(new Option('-v, --verbose', verbose).conflicts('quiet'))
    .option('--no-color', 'use no colours')
}
