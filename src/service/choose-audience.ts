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

/** What is known where an audience is chosen. */
export interface KnownAudiences {
  /** Where audiences are kept. */
  readonly store: Pick<AudienceReader, 'list'>
  /** The sources. */
  readonly configuration: () => Pick<Configuration, 'sources'>
  /** Makes the id of a new audience. */
  readonly runtime: Runtime
}

/** The audience that is meant. */
export interface AudienceChoice {
  /** Tells it from a refusal. */
  readonly kind: 'chosen'
  /** Of one that is there already, what is kept of it, with another name where one is given. */
  readonly audience: NewAudience
}

/** Which audience a request means, and what it is called. */
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

/** The audience that has a key. */
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

/** The key that is given, or else made of the name. */
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

const noKey = 'No property can be made of the name: it has neither letters nor digits'
