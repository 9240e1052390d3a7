import { countFlag } from '../flags.ts'
import type { AddCommand } from '../io.ts'

interface ViewFlags {
  readonly port: number
  readonly to?: string
  readonly secret?: string
  readonly open?: boolean
  readonly json?: boolean
}

const examples = `
Examples:
  npx evroute listen --save capture.ndjson
  npx evroute view capture.ndjson
  npx evroute view capture.ndjson --to http://127.0.0.1:3000/hook --secret @secret.txt

Exit codes: 0 once Ctrl-C ends it, 2 usage, 3 the same where rows are no records, 7 the file or the port
cannot be used.`

/** Adds `evroute view`. */
export const addViewCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('view')
    .summary('show a capture on a page')
    .description('Shows what `listen --save` or `run --save` kept on the page of a receiver.')
    .argument('<file>', 'a capture, - for stdin')
    .option('-p, --port <n>', 'port on this machine, 0 for a free one', countFlag(0, 65_535), 0)
    .option('--to <url>', 'where "Resend" sends requests')
    .option(
      '--secret <value>',
      'sign edited requests with it; also @file, env:NAME or EVROUTE_SECRET',
    )
    .option('--open', 'open the page in a browser')
    .option('--json', 'a record on stdout once the page is there')
    .addHelpText('after', examples)
  command.action(async (path: string) => {
    const { port, to, secret, open = false, json = false } = command.opts<ViewFlags>()
    const { readSecret } = await import('../secret.ts')
    const { view } = await import('../viewing/view.ts')
    const options = { path, port, resendTo: to, secret: await readSecret(secret, io), open, json }
    end(await view(options, io))
  })
}
