import type { AddCommand } from '../io.ts'

interface DemoFlags {
  readonly page?: boolean
  readonly json?: boolean
  readonly color: boolean
}

/** Adds `evroute demo`. */
export const addDemoCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('demo')
    .summary('show how a call becomes a webhook')
    .description('Sends a call of each type to a receiver in this process, and shows both sides.')
    .option('--page', 'then show more on a page, until Ctrl-C')
    .option('--json', 'write NDJSON records to stdout')
    .option('--no-color', 'use no colours')
  command.action(async () => {
    const { page = false, json = false, color } = command.opts<DemoFlags>()
    const { demo } = await import('../demo/demo.ts')
    end(await demo({ page, json, color }, io))
  })
}
