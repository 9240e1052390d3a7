import { refusalText } from '../../audience/index.ts'
import { EvrouteError, plainText, SettingError } from '../../model/index.ts'

/** Makes the error that says why a change could not begin. */
export function refusalError(
  refusal: Parameters<typeof refusalText>[0],
  requested: Parameters<typeof refusalText>[1],
): EvrouteError {
  const message = plainText(refusalText(refusal, requested))
  if (refusal.kind === 'running') return new EvrouteError({ code: 'sync_running', message })
  const { setting, hint } = advice[refusal.kind]
  return new SettingError(setting, message, hint)
}

const advice = {
  unknown_source: { setting: '--source', hint: 'Name a source with --source.' },
  unknown_audience: { setting: 'key', hint: 'See `evroute audience list` for the keys.' },
  unusable_name: {
    setting: '--key',
    hint: 'Name the property with --key: letters, digits and underscores.',
  },
  taken: {
    setting: '--key',
    hint: 'Choose a different --key, or pass the --source and --class of that audience. `evroute audience remove` frees the key.',
  },
}
