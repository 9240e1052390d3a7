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
    .summary('show the whole way of a call, in this process')
    .description(
      'Starts a receiver, sends one call of each type and one deletion through client, router and ' +
        'sender, and shows both sides. It needs nothing and changes nothing.',
    )
    .option('--page', 'then show more on a page, until Ctrl-C')
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
  command.action(async () => {
    const { page = false, json = false, color } = command.opts<DemoFlags>()
    const { demo } = await import('../demo/demo.ts')
    end(await demo({ page, json, color }, io))
  })
}
