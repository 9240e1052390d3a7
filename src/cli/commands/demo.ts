import { command, flag, type ValuesOf } from '../command.ts'

const options = {
  page: flag('--page', 'then show more webhooks on a page, until Ctrl-C'),
  json: flag('--json', 'write NDJSON records to stdout'),
  color: flag('--no-color', 'print without colours'),
}

/** The parsed options of `evroute demo`. */
export type DemoValues = ValuesOf<typeof options>

/** Adds `evroute demo`. */
export const addDemoCommand = command({
  name: 'demo',
  summary: 'show how a call becomes a webhook',
  description: 'Sends a call of each type to a receiver in this process, and shows both sides.',
  options,
  after:
    'Exit codes: 0 everything arrived as it was sent; 1 it did not; 2 usage; 7 no port can be used.',
  run: async (values, { io }) => (await import('../demo/demo.ts')).demo(values, io),
})
