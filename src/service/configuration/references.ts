import { AddressGuard } from '../../http/index.ts'
import { EventFilter } from '../../match/index.ts'
import { isJsonObject, parseUrl, SettingError, type JsonObject } from '../../model/index.ts'
import type { Breather } from '../../runtime/index.ts'
import { serverUrlRefusal } from '../../store/index.ts'
import { checkDestination, type EndpointSettings } from '../../webhook/index.ts'
import { defaultPorts } from './document.ts'
import { type DocumentPath, type PlacedProblem } from './problem.ts'

/** Finds what the schema can't, such as duplicate ids and unknown sources. Skips values of the wrong type. */
export async function checkReferences(
  document: unknown,
  breather: Breather,
): Promise<readonly PlacedProblem[]> {
  const sources = objectsAt(document, ['sources'])
  const destinations = objectsAt(document, ['destinations'])
  const sourceIds = idsOf(document, sources)
  const { guard, problems } = checkNetwork(document)
  const ofDestinations: PlacedProblem[] = []
  for (const destination of destinations) {
    await breather.breathe()
    ofDestinations.push(
      ...checkSources(destination, sourceIds),
      ...checkEndpoints(destination, guard),
      ...checkStandardWebhooks(destination),
      ...checkFilter(destination),
    )
  }
  return [
    ...problems,
    ...checkAdmin(document),
    ...checkStore(document),
    ...repeatsOf(
      sources.flatMap((source) => textsAt(source, 'id')),
      'a different source already has this id',
    ),
    ...repeatsOf(
      sources.flatMap((source) => textsIn(source, 'writeKeys')),
      'it already identifies a source',
    ),
    ...repeatsOf(
      destinations.flatMap((destination) => textsAt(destination, 'id')),
      'a different destination already has this id',
    ),
    ...ofDestinations,
  ]
}

interface Placed<Value> {
  readonly path: DocumentPath
  readonly value: Value
}

function objectsAt(document: unknown, path: DocumentPath): readonly Placed<JsonObject>[] {
  const value = path.reduce<unknown>(
    (inner, key) => (isJsonObject(inner) ? inner[key] : undefined),
    document,
  )
  if (!Array.isArray(value)) return []
  return value.flatMap((element: unknown, index) =>
    isJsonObject(element) ? [{ path: [...path, index], value: element }] : [],
  )
}

function textsAt({ path, value }: Placed<JsonObject>, key: string): readonly Placed<string>[] {
  const text = value[key]
  return typeof text === 'string' ? [{ path: [...path, key], value: text }] : []
}

function textsIn({ path, value }: Placed<JsonObject>, key: string): readonly Placed<string>[] {
  const list = value[key]
  if (!Array.isArray(list)) return []
  return list.flatMap((text: unknown, index) =>
    typeof text === 'string' ? [{ path: [...path, key, index], value: text }] : [],
  )
}

function repeatsOf(texts: readonly Placed<string>[], reason: string): readonly PlacedProblem[] {
  const seen = new Set<string>()
  return texts.flatMap(({ path, value }) => {
    if (seen.has(value)) return [{ path, message: `Cannot use this a second time: ${reason}` }]
    seen.add(value)
    return []
  })
}

/** Makes the guard for the allowed addresses; undefined if one of them is invalid. */
function checkNetwork(document: unknown): {
  readonly guard: AddressGuard | undefined
  readonly problems: readonly PlacedProblem[]
} {
  const network = isJsonObject(document) ? document['network'] : undefined
  const entries = isJsonObject(network)
    ? textsIn({ path: ['network'], value: network }, 'allow')
    : []
  const problems = entries.flatMap(({ path, value }) =>
    refusal(path, () => new AddressGuard({ allow: [value] })),
  )
  if (problems.length > 0) return { guard: undefined, problems }
  return { guard: new AddressGuard({ allow: entries.map(({ value }) => value) }), problems }
}

const tokenCharactersMin = 16

function checkAdmin(document: unknown): readonly PlacedProblem[] {
  const { listen = {}, admin } = isJsonObject(document) ? document : {}
  if (!isJsonObject(admin)) return []
  const problems: PlacedProblem[] = [...checkTokens(admin)]
  const { port = defaultPorts.admin } = admin
  const listenPort = isJsonObject(listen) ? (listen['port'] ?? defaultPorts.listen) : undefined
  if (typeof port === 'number' && port === listenPort && port !== 0) {
    problems.push({
      path: ['admin', 'port'],
      message: `Cannot use ${port}: listen.port has the same value`,
      hint: 'Set different ports, or 0 for a free one.',
    })
  }
  return problems
}

function checkTokens({ token, metricsToken }: JsonObject): readonly PlacedProblem[] {
  const guessable = Object.entries({ token, metricsToken }).filter(
    ([, value]) => typeof value === 'string' && value.length < tokenCharactersMin,
  )
  const problems: PlacedProblem[] = guessable.map(([name]) => ({
    path: ['admin', name],
    message: `Cannot use this value: it has fewer than ${tokenCharactersMin} characters`,
    hint: 'Make one with `openssl rand -hex 32` or `evroute init`.',
  }))
  if (typeof token !== 'string' || token !== metricsToken) return problems
  const hint = 'Make a different one with `openssl rand -hex 32`.'
  const message = 'Cannot use this value: admin.token has the same value'
  return [...problems, { path: ['admin', 'metricsToken'], message, hint }]
}

function checkStore(document: unknown): readonly PlacedProblem[] {
  const store = isJsonObject(document) ? document['store'] : undefined
  const refused = typeof store === 'string' ? serverUrlRefusal(store) : undefined
  if (refused === undefined) return []
  return [{ path: ['store'], message: `Cannot use this URL: ${refused.why}`, hint: refused.hint }]
}

/** Returns the ids of all sources; undefined if a source has no valid id. */
function idsOf(
  document: unknown,
  sources: readonly Placed<JsonObject>[],
): ReadonlySet<string> | undefined {
  const ids = sources.flatMap((source) => textsAt(source, 'id'))
  const given = isJsonObject(document) ? document['sources'] : undefined
  const isComplete = Array.isArray(given) && given.length > 0 && ids.length === given.length
  return isComplete ? new Set(ids.map(({ value }) => value)) : undefined
}

function checkSources(
  destination: Placed<JsonObject>,
  known: ReadonlySet<string> | undefined,
): readonly PlacedProblem[] {
  const named = textsIn(destination, 'sources')
  const unknown = named.filter(({ value }) => known?.has(value) === false)
  return [
    ...repeatsOf(named, 'the source is listed twice'),
    ...unknown.map(({ path, value }) => ({
      path,
      message: `Cannot take events from "${value}": there is no source with this id`,
      hint: `The sources are ${[...(known ?? [])].join(', ')}.`,
    })),
  ]
}

/** Checks each URL and header by itself, to find all problems, and then all URLs together. */
function checkEndpoints(
  destination: Placed<JsonObject>,
  guard: AddressGuard | undefined,
): readonly PlacedProblem[] {
  const endpoints = objectsAt(destination.value, ['endpoints']).map(({ path, value }) => ({
    path: [...destination.path, ...path],
    value,
  }))
  const problems = endpoints.flatMap((endpoint) => [
    ...textsAt(endpoint, 'url').flatMap((url) => checkEndpointUrl(url, guard)),
    ...checkHeaders(endpoint),
    ...checkTls(endpoint),
  ])
  const urls = endpoints.flatMap((endpoint) => textsAt(endpoint, 'url'))
  if (problems.length > 0 || urls.length === 0) return problems
  return refusal(
    ({ setting }) => [...destination.path, setting],
    () => checkEndpointSettings(urls.map(({ value }) => ({ url: value }))),
  )
}

/** Checks a URL. Does not quote an invalid one, because it may come from a variable with a secret. */
function checkEndpointUrl(
  { path, value }: Placed<string>,
  guard: AddressGuard | undefined,
): readonly PlacedProblem[] {
  if (parseUrl(value) === undefined) {
    const message = 'Cannot send to this: it is not a full http or https URL'
    const hint = 'Write the URL with its scheme, such as https://example.com/hook.'
    return [{ path, message, hint }]
  }
  return refusal(path, () => checkEndpointSettings([{ url: value }], guard))
}

function checkTls({ path, value }: Placed<JsonObject>): readonly PlacedProblem[] {
  const { url, tls } = value
  if (typeof url !== 'string' || parseUrl(url) === undefined || !isJsonObject(tls)) return []
  return refusal([...path, 'tls'], () => checkEndpointSettings([{ url, tls: {} }]))
}

function checkHeaders({ path, value }: Placed<JsonObject>): readonly PlacedProblem[] {
  const { headers } = value
  if (!isJsonObject(headers)) return []
  const names = new Map<string, string>()
  return Object.entries(headers).flatMap(([name, text]): readonly PlacedProblem[] => {
    const place = [...path, 'headers', name]
    const other = names.get(name.toLowerCase())
    names.set(name.toLowerCase(), name)
    if (other !== undefined) {
      return [{ path: place, message: `Cannot send a header twice: ${other} is the same header` }]
    }
    if (typeof text !== 'string') return []
    const endpoint = { url: 'https://example.com/', headers: { [name]: text } }
    return refusal(place, () => checkEndpointSettings([endpoint]))
  })
}

function checkStandardWebhooks({ path, value }: Placed<JsonObject>): readonly PlacedProblem[] {
  const hasSecret = typeof value['sharedSecret'] === 'string'
  if (value['standardWebhooks'] !== true || hasSecret) return []
  const message = 'Cannot use true: there is no sharedSecret to sign the webhooks with'
  const hint = 'Set sharedSecret, or give { "secrets": [...] }.'
  return [{ path: [...path, 'standardWebhooks'], message, hint }]
}

function checkFilter(destination: Placed<JsonObject>): readonly PlacedProblem[] {
  return textsAt(destination, 'filter').flatMap(({ path, value }) =>
    refusal(path, () => new EventFilter(value)),
  )
}

function checkEndpointSettings(endpoints: readonly EndpointSettings[], guard?: AddressGuard): void {
  checkDestination({ id: '', sourceIds: [], endpoints }, guard)
}

/** Runs a check, and turns a SettingError into a problem. */
function refusal(
  place: DocumentPath | ((error: SettingError) => DocumentPath),
  check: () => unknown,
): readonly PlacedProblem[] {
  try {
    check()
    return []
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    const path = typeof place === 'function' ? place(error) : place
    return [{ path, message: error.message, hint: error.hint }]
  }
}
