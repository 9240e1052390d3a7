import { knownNames, unknownName } from '../model/index.ts'
import type { BeginSyncResult } from './store-port.ts'

/** Why a sync or a removal did not start. */
export type AudienceRefusal =
  | { readonly kind: 'running'; readonly key: string }
  /** The source does not exist, or none is given although there are several. */
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }
  | { readonly kind: 'unknown_audience'; readonly knownKeys: readonly string[] }
  /** No key can be made from the name, or the key is invalid. */
  | { readonly kind: 'unusable_name'; readonly message: string }

/** Says why a sync or a removal did not start, as a sentence without a period. `given` is what was asked for. */
export function refusalText(
  refusal: AudienceRefusal | Extract<BeginSyncResult, { kind: 'taken' }>,
  given: { readonly source?: string | undefined; readonly key?: string | undefined },
): string {
  switch (refusal.kind) {
    case 'running':
      return `A sync or removal of the audience ${refusal.key} is already running; try again when it has ended`
    case 'unknown_source':
      return given.source === undefined && refusal.knownIds.length > 0
        ? `No source is given: ${knownNames(refusal.knownIds)}`
        : unknownName('source', refusal.knownIds, given.source)
    case 'unknown_audience':
      return unknownName('audience', refusal.knownKeys, given.key)
    case 'unusable_name':
      return refusal.message
    case 'taken': {
      const { key, computationClass, sourceId } = refusal.audience
      const what = computationClass === 'audience' ? 'an audience' : 'a computed trait'
      return `The key ${key} belongs to ${what} of the source ${sourceId}; give a different name or key`
    }
  }
}
