import type { AudienceSyncRequest } from '../admin-api/index.ts'
import {
  checkKey,
  newComputationId,
  propertyName,
  type AudienceReader,
  type AudienceRefusal,
  type NewAudience,
} from '../audience/index.ts'
import { readTable, type TableRow } from '../importer/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

interface KnownAudiences {
  readonly store: Pick<AudienceReader, 'list'>
  readonly configuration: () => Pick<Configuration, 'sources'>
  readonly runtime: Runtime
}

interface AudienceChoice {
  readonly kind: 'chosen'
  readonly audience: NewAudience
}

/** Returns the audience that a sync is about, new or existing, with the name that the request gives it. */
export async function chooseAudience(
  request: AudienceSyncRequest,
  { store, configuration, runtime }: KnownAudiences,
): Promise<AudienceChoice | AudienceRefusal> {
  const { key, problem } = chooseKey(request)
  if (problem !== undefined) return { kind: 'unusable_name', message: problem }
  const audiences = await store.list()
  const known: Partial<NewAudience> = audiences.find((each) => each.key === key) ?? {}
  const knownIds = configuration().sources.map(({ id }) => id)
  const onlyId = knownIds.length === 1 ? knownIds[0] : undefined
  const sourceId = request.sourceId ?? known.sourceId ?? onlyId
  if (sourceId === undefined || !knownIds.includes(sourceId)) {
    return { kind: 'unknown_source', knownIds }
  }
  const { computationClass, name = known.name ?? key } = request
  const computationId = known.computationId ?? newComputationId(computationClass, runtime)
  return { kind: 'chosen', audience: { key, name, computationClass, computationId, sourceId } }
}

/** Finds an audience by its key. If there is none, the refusal lists the known keys. */
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

function chooseKey({ key: given, name = '' }: AudienceSyncRequest): {
  readonly key: string
  readonly problem: string | undefined
} {
  const key = given ?? propertyName(name)
  const problem = 'Cannot make a key from the name: it has no letters or digits'
  return key === undefined ? { key: '', problem } : { key, problem: checkKey(key) }
}

/** Reads an audience's list. Throws `cannot_read_file` if it is empty, because its writer may have failed. */
export function readList(list: AsyncIterable<Uint8Array>): AsyncIterable<readonly TableRow[]> {
  return readTable(list, 'To remove all members, send a header without rows, or [].')
}
