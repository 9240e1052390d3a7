import type { AudienceRefusal, AudienceSyncRequest } from '../admin-api/index.ts'
import {
  checkKey,
  newComputationId,
  propertyName,
  type AudienceReader,
  type NewAudience,
} from '../audience/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

/** What choosing an audience needs: the existing audiences and the configured sources. */
export interface KnownAudiences {
  readonly store: Pick<AudienceReader, 'list'>
  /** Reads the current configuration. */
  readonly configuration: () => Pick<Configuration, 'sources'>
  /** Makes the id of a new audience. */
  readonly runtime: Runtime
}

/** The audience that a request is about. */
export interface AudienceChoice {
  readonly kind: 'chosen'
  /** A new or existing audience, with the name that the request gives it. */
  readonly audience: NewAudience
}

/** Returns the existing audience that a sync is about, or a new one. */
export async function chooseAudience(
  request: AudienceSyncRequest,
  { store, configuration, runtime }: KnownAudiences,
): Promise<AudienceChoice | AudienceRefusal> {
  const choice = chooseKey(request)
  if (choice.kind !== 'chosen') return choice
  const { key } = choice
  const known = (await store.list()).find((audience) => audience.key === key)
  const knownIds = configuration().sources.map(({ id }) => id)
  const sourceId = request.sourceId ?? known?.sourceId ?? onlyOne(knownIds)
  if (sourceId === undefined || !knownIds.includes(sourceId)) {
    return { kind: 'unknown_source', knownIds }
  }
  const { computationClass, name = known?.name ?? key } = request
  const computationId = known?.computationId ?? newComputationId(computationClass, runtime)
  return { kind: 'chosen', audience: { key, name, computationClass, computationId, sourceId } }
}

/** Finds an audience by its key. */
export async function findAudience(
  key: string,
  store: Pick<AudienceReader, 'list'>,
): Promise<AudienceChoice | AudienceRefusal> {
  const audiences = await store.list()
  const audience = audiences.find((candidate) => candidate.key === key)
  return audience === undefined
    ? { kind: 'unknown_audience', knownKeys: audiences.map((known) => known.key) }
    : { kind: 'chosen', audience }
}

/** Returns the given key, or makes one from the name. */
function chooseKey({
  key: given,
  name = '',
}: AudienceSyncRequest): { readonly kind: 'chosen'; readonly key: string } | AudienceRefusal {
  const key = given ?? propertyName(name)
  if (key === undefined) return { kind: 'unusable_name', message: noKey }
  const problem = checkKey(key)
  return problem === undefined
    ? { kind: 'chosen', key }
    : { kind: 'unusable_name', message: problem }
}

function onlyOne(ids: readonly string[]): string | undefined {
  return ids.length === 1 ? ids[0] : undefined
}

const noKey = 'Cannot make a key from the name: it has no letters or digits'
