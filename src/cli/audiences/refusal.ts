import type { AudienceRefusal } from '../../admin-api/index.ts'
import type { Audience } from '../../audience/index.ts'
import { EvrouteError, nearestName, plainText, SettingError } from '../../model/index.ts'
import { usageError } from '../output/error.ts'

/** Makes the error that says why a change could not begin. */
export function refusalError(
  refusal: AudienceRefusal | { readonly kind: 'taken'; readonly audience: Audience },
  requested: Readonly<Partial<Record<'key' | 'source', string | undefined>>>,
): EvrouteError {
  switch (refusal.kind) {
    case 'running':
      return new EvrouteError({
        code: 'sync_running',
        message: `Cannot begin: another sync or removal of ${plainText(refusal.key)} is running`,
        hint: 'When it has ended, run the command again.',
      })
    case 'unknown_source':
      return sourceError(requested.source, refusal.knownIds)
    case 'unknown_audience':
      return unknownAudience(requested.key ?? '', refusal.knownKeys)
    case 'unusable_name':
      return new SettingError(
        requested.key === undefined ? '--name' : '--key',
        `Cannot use this name: ${plainText(refusal.message)}`,
        'Name the property with --key: letters, digits and underscores.',
      )
    case 'taken': {
      const { key, sourceId, computationClass } = refusal.audience
      const what = computationClass === 'audience' ? 'an audience' : 'a computed trait'
      return new SettingError(
        '--key',
        `Cannot use the key ${plainText(key)}: it already belongs to ${what} of the source ${plainText(sourceId)}`,
        'Choose a different --key, or pass the --source and --class of that audience. `evroute audience remove` frees the key.',
      )
    }
  }
}

/** Makes the error for an unknown key, with a hint about the known keys. */
export function unknownAudience(key: string, knownKeys: readonly string[]): EvrouteError {
  const message = `There is no audience or computed trait "${plainText(key)}"`
  return usageError(message, knownHint(key, 'keys', knownKeys))
}

/** Makes the error for an unknown source, or for a missing `--source` if there are several. */
export function sourceError(source: string | undefined, knownIds: readonly string[]): SettingError {
  if (source === undefined) {
    const hint = `Name one with --source: ${listText(knownIds)}.`
    return new SettingError('--source', 'Cannot tell which source is meant', hint)
  }
  const hint = knownHint(source, 'sources', knownIds)
  return new SettingError('--source', `There is no source "${plainText(source)}"`, hint)
}

function knownHint(given: string, what: string, known: readonly string[]): string {
  const meant = nearestName(given, known)
  if (meant !== undefined) return `Did you mean ${plainText(meant)}?`
  return known.length === 0 ? 'There are none yet.' : `The ${what} are ${listText(known)}.`
}

const listedMax = 20

function listText(names: readonly string[]): string {
  const shown = names.slice(0, listedMax).map(plainText).join(', ')
  return names.length > listedMax ? `${shown} and ${names.length - listedMax} more` : shown
}
