import { limits, SettingError, type EventType } from '../../model/index.ts'
import {
  durationFlagUpTo,
  eventTypesFlag,
  headerFlag,
  repeatable,
  languageNames,
} from '../flags.ts'
import type { AddCommand } from '../io.ts'
import { readHeaders } from '../secret.ts'

interface CheckFlags {
  readonly secret?: string
  readonly type?: readonly EventType[]
  readonly header?: Readonly<Record<string, string>>
  readonly timeout?: number
  readonly only?: readonly string[]
  readonly list?: boolean
  readonly language?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly color: boolean
}

const examples = `
Examples:
  evroute check http://127.0.0.1:3000/webhooks --secret s3cret
  evroute check https://example.com/hook --secret env:HOOK_SECRET --type track
  evroute check http://127.0.0.1:3000/webhooks --only plain --only spaced
  evroute check --list

The webhooks, a delete among them, are about the user u_sample. Pass --type if
the handler must not see all types.

Exit codes: 0 the handler is right, 2 usage, 4 it did not answer, 6 it is wrong,
130 interrupted. Languages: ${languageNames}.`

/** Adds `evroute check`. */
export const addCheckCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('check')
    .summary('find out whether a handler verifies signatures')
    .description('Sends webhooks that a handler must take or refuse, and prints the verdicts.')
    .argument('[url]', 'the URL of the handler')
    .optionsGroup('The webhooks:')
    .option('--secret <value>', 'sign: text, @file or env:NAME [EVROUTE_SECRET]')
    .option('--type <type>', 'send only this type, repeatable', eventTypesFlag)
    .option('-H, --header <name: value>', 'static header, repeatable', headerFlag)
    .option('--only <case>', 'send only this case, repeatable', repeatable)
    .option(
      '--timeout <duration>',
      'time for one answer, at most 5s [5s]',
      durationFlagUpTo(limits.endpointDeadlineMs),
    )
    .optionsGroup('Output:')
    .option('--list', 'list the cases and send nothing')
    .option('--language <name>', 'if yours is wrong, print a correct handler in it')
    .option('--json', 'write NDJSON records to stdout')
    .option('-q, --quiet', 'print only mistakes and the result')
    .option('--no-color', 'use no colours')
    .addHelpText('after', examples)
  command.action(async (url: string | undefined) => {
    const {
      json = false,
      quiet = false,
      color,
      list,
      type: types,
      only,
      ...flags
    } = command.opts<CheckFlags>()
    const { listCases } = await import('../checking/check.ts')
    if (list === true) {
      end(await listCases({ types, only, json }, io))
      return
    }
    const { check } = await import('../checking/check.ts')
    const { timeout: timeoutMs, secret, language } = flags
    const headers = await readHeaders(flags.header, io)
    const target = { url: requireUrl(url), headers, types, only, timeoutMs }
    end(await check({ target, secret, language, json, quiet, color }, io))
  })
}

function requireUrl(url: string | undefined): string {
  if (url !== undefined) return url
  throw new SettingError(
    'url',
    'Cannot check a handler without its URL',
    'Try `evroute check http://127.0.0.1:3000/webhooks --secret s3cret`.',
  )
}
