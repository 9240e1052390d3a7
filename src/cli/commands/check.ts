import { limits, SettingError } from '../../model/index.ts'
import { command, flag, inGroup, option, type ValuesOf } from '../command.ts'
import { exitCodes } from '../exit-code.ts'
import {
  durationUpTo,
  eventTypesFlag,
  handlerIn,
  headerFlag,
  languageNames,
  repeatable,
  resultOptions,
} from '../flags.ts'
import { writeData } from '../io.ts'

const options = {
  ...inGroup('The webhooks:', {
    secret: option('--secret <value>', 'signing secret: @file, env:NAME [EVROUTE_SECRET]'),
    types: option('--type <type>', 'send only this type, repeatable', eventTypesFlag),
    headers: option('-H, --header <name: value>', 'static header, repeatable', headerFlag),
    only: option('--only <case>', 'send only this case, repeatable', repeatable),
    timeoutMs: option(
      '--timeout <duration>',
      'time limit for an answer, at most 5s [5s]',
      durationUpTo(limits.endpointDeadlineMs, 1),
    ),
  }),
  ...inGroup('Output:', {
    list: flag('--list', 'list the cases and send nothing'),
    language: option('--language <name>', 'print a correct handler if yours is not right'),
  }),
  ...resultOptions('print only mistakes and the result'),
}

/** The parsed options of `evroute check`. */
export type CheckValues = ValuesOf<typeof options>

/** Adds `evroute check`. */
export const addCheckCommand = command({
  name: 'check',
  summary: 'find out whether a handler verifies signatures',
  description: 'Sends webhooks that a handler must accept or refuse, and prints the verdicts.',
  arguments: [['[url]', 'the URL of the handler']],
  options,
  after: `Examples:
  evroute check http://127.0.0.1:3000/webhooks --secret s3cret
  evroute check https://example.com/hook --secret env:HOOK_SECRET --type track
  evroute check http://127.0.0.1:3000/webhooks --only plain --only spaced
  evroute check --list
  evroute check --language express > handler.mjs

All webhooks are about the user u_sample, and one is a delete. Pass --type if the
handler must not get every type.

Exit codes: 0 the handler is right; 2 usage; 4 it did not answer; 6 it is wrong;
130 interrupted. Languages: ${languageNames}.`,
  run: async (values, { io }, [url]: [string | undefined]) => {
    const { check, listCases } = await import('../checking/check.ts')
    if (values.list) return listCases(values, io)
    if (url !== undefined) return check(url, values, io)
    if (values.language === undefined) {
      const hint = 'Try `evroute check http://127.0.0.1:3000/webhooks --secret s3cret`.'
      throw new SettingError('url', 'Cannot check a handler without its URL', hint)
    }
    await writeData(io, await handlerIn(values.language))
    return exitCodes.ok
  },
})
