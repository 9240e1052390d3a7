import { countFlag } from '../flags.ts'
import type { AddCommand } from '../io.ts'

interface ViewFlags {
  readonly port?: number
  readonly to?: string
  readonly secret?: string
  readonly open?: boolean
  readonly json?: boolean
}

const examples = `
Examples:
  evroute listen --save capture.ndjson
  evroute view capture.ndjson
  evroute view capture.ndjson --to http://127.0.0.1:3000/hook --secret @key

Exit codes: 0 ended by Ctrl-C, 2 usage, 3 some rows are not records, 7 the file
or the port cannot be used.`

/** Adds `evroute view`. */
export const addViewCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('view')
    .summary('show a capture on a page')
    .description('Shows the requests in a file of `listen --save` or `run --save` on a page.')
    .argument('<file>', 'a capture, - for stdin')
    .option('-p, --port <n>', 'port of the page, 0 for a free one [0]', countFlag(0, 65_535))
    .option('--to <url>', 'where "Resend" sends requests')
    .option('--secret <value>', 'sign edited requests [EVROUTE_SECRET]')
    .option('--open', 'open the page in a browser')
    .option('--json', 'write a record with its URL to stdout')
    .addHelpText('after', examples)
  command.action(async (path: string) => {
    const { port = 0, to, secret, open = false, json = false } = command.opts<ViewFlags>()
    const { readSecret } = await import('../secret.ts')
    const { view } = await import('../viewing/view.ts')
    const options = { path, port, resendTo: to, secret: await readSecret(secret, io), open, json }
    end(await view(options, io))
  })
}
