import { command, flag, option, type ValuesOf } from '../command.ts'
import { countFlag } from '../flags.ts'

const options = {
  port: option('-p, --port <n>', 'port of the page, 0 for a free one [0]', countFlag(0, 65_535)).or(
    0,
  ),
  to: option('--to <url>', 'where "Resend" sends requests'),
  secret: option('--secret <value>', 'sign edited requests [EVROUTE_SECRET]'),
  open: flag('--open', 'open the page in a browser'),
  json: flag('--json', "write the page's URL to stdout as JSON"),
}

/** The parsed options of `evroute view`. */
export type ViewValues = ValuesOf<typeof options>

/** Adds `evroute view`. */
export const addViewCommand = command({
  name: 'view',
  summary: 'show a capture on a page',
  description: 'Shows the requests in a file of `listen --save` or `run --save` on a page.',
  arguments: [['<file>', 'a capture, - for stdin']],
  options,
  after: `Examples:
  evroute listen --save capture.ndjson
  evroute view capture.ndjson
  evroute view capture.ndjson --to http://127.0.0.1:3000/hook --secret @key

Exit codes: 0 ended by Ctrl-C; 2 usage; 3 some rows are not records; 7 the file
or the port cannot be used.`,
  run: async (values, { io }, [path]: [string]) =>
    (await import('../viewing/view.ts')).view(path, values, io),
})
