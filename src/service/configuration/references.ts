import { AddressGuard } from '../../http/index.ts'
import { EventFilter } from '../../match/index.ts'
import { isJsonObject, parseUrl, SettingError, type JsonObject } from '../../model/index.ts'
import type { Breather } from '../../runtime/index.ts'
import { serverUrlRefusal } from '../../store/index.ts'
import { checkDestination, type EndpointSettings } from '../../webhook/index.ts'
import { defaultPorts } from './document.ts'
import { textsAt, valuesAt, type DocumentPath, type Placed, type PlacedProblem } from './problem.ts'

/** Finds what the schema can't, such as duplicate ids and unknown sources. Skips values of the wrong type. */
export async function checkReferences(
  document: unknown,
  breather: Breather,
): Promise<readonly PlacedProblem[]> {
  const root = { path: [], value: document }
  const sourceIds = textsAt(root, ['sources', '*', 'id'])
  const sources = valuesAt(root, ['sources', '*'])
  const isKnown = sources.length > 0 && sources.length === sourceIds.length
  const knownIds = isKnown ? new Set(sourceIds.map(({ value }) => value)) : undefined
  const allowed = textsAt(root, ['network', 'allow', '*'])
  const problems: PlacedProblem[] = allowed.flatMap(({ path, value }) =>
    refusal(path, () => new AddressGuard({ allow: [value] })),
  )
  const guard =
    problems.length === 0
      ? new AddressGuard({ allow: allowed.map(({ value }) => value) })
      : undefined
  for (const destination of valuesAt(root, ['destinations', '*'])) {
    await breather.breathe()
    problems.push(
      ...checkSources(destination, knownIds),
      ...checkEndpoints(destination, guard),
      ...checkStandardWebhooks(destination),
      ...textsAt(destination, ['filter']).flatMap(({ path, value }) =>
        refusal(path, () => new EventFilter(value)),
      ),
    )
  }
  const writeKeys = textsAt(root, ['sources', '*', 'writeKeys', '*'])
  const destinationIds = textsAt(root, ['destinations', '*', 'id'])
  return [
    ...problems,
    ...checkAdmin(root),
    ...textsAt(root, ['store']).flatMap(checkStore),
    ...repeatsOf(sourceIds, 'a different source already has this id'),
    ...repeatsOf(writeKeys, 'it already identifies a source'),
    ...repeatsOf(destinationIds, 'a different destination already has this id'),
  ]
}

function repeatsOf(texts: readonly Placed<string>[], reason: string): readonly PlacedProblem[] {
  const seen = new Set<string>()
  return texts.flatMap(({ path, value }) => {
    if (seen.has(value)) return [{ path, message: `Cannot use this a second time: ${reason}` }]
    seen.add(value)
    return []
  })
}

const tokenCharactersMin = 16

function checkAdmin(root: Placed): readonly PlacedProblem[] {
  const [admin] = valuesAt(root, ['admin'])
  if (!isJsonObject(admin?.value)) return []
  const problems: PlacedProblem[] = [...checkTokens(admin.value)]
  const { port = defaultPorts.admin } = admin.value
  const [listen] = valuesAt(root, ['listen', 'port'])
  if (typeof port === 'number' && port === (listen?.value ?? defaultPorts.listen) && port !== 0) {
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

function checkStore({ path, value }: Placed<string>): readonly PlacedProblem[] {
  const refused = serverUrlRefusal(value)
  if (refused === undefined) return []
  return [{ path, message: `Cannot use this URL: ${refused.why}`, hint: refused.hint }]
}

/** @param known - the ids of all sources; undefined if a source has no valid id */
function checkSources(
  destination: Placed,
  known: ReadonlySet<string> | undefined,
): readonly PlacedProblem[] {
  const named = textsAt(destination, ['sources', '*'])
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

/** Checks each URL, header and `tls` separately, to find all problems. If there are none, looks for duplicate URLs. */
function checkEndpoints(
  destination: Placed,
  guard: AddressGuard | undefined,
): readonly PlacedProblem[] {
  const urls = textsAt(destination, ['endpoints', '*', 'url'])
  const problems = [
    ...urls.flatMap((url) => checkEndpointUrl(url, guard)),
    ...valuesAt(destination, ['endpoints', '*']).flatMap((endpoint) => [
      ...checkHeaders(valuesAt(endpoint, ['headers', '*'])),
      ...checkTls(endpoint),
    ]),
  ]
  if (problems.length > 0 || urls.length === 0) return problems
  return refusal(
    ({ setting }) => [...destination.path, setting],
    () => checkEndpointSettings(urls.map(({ value }) => ({ url: value }))),
  )
}

/** Checks a URL. An error quotes it only if its scheme is valid: any other text may be a secret from a variable. */
function checkEndpointUrl(
  { path, value }: Placed<string>,
  guard: AddressGuard | undefined,
): readonly PlacedProblem[] {
  const protocol = parseUrl(value)?.protocol
  if (protocol !== 'http:' && protocol !== 'https:') {
    const message = 'Cannot send to this: it is not a full http or https URL'
    const hint = 'Write the URL with its scheme, such as https://example.com/hook.'
    return [{ path, message, hint }]
  }
  return refusal(path, () => checkEndpointSettings([{ url: value }], guard))
}

function checkTls({ path, value }: Placed): readonly PlacedProblem[] {
  const { url, tls } = isJsonObject(value) ? value : {}
  if (typeof url !== 'string' || parseUrl(url) === undefined || !isJsonObject(tls)) return []
  return refusal([...path, 'tls'], () => checkEndpointSettings([{ url, tls: {} }]))
}

function checkHeaders(headers: readonly Placed[]): readonly PlacedProblem[] {
  const names = new Map<string, string>()
  return headers.flatMap(({ path, value }): readonly PlacedProblem[] => {
    const name = String(path.at(-1))
    const other = names.get(name.toLowerCase())
    names.set(name.toLowerCase(), name)
    if (other !== undefined) {
      return [{ path, message: `Cannot send a header twice: ${other} is the same header` }]
    }
    if (typeof value !== 'string') return []
    const endpoint = { url: 'https://example.com/', headers: { [name]: value } }
    return refusal(path, () => checkEndpointSettings([endpoint]))
  })
}

function checkStandardWebhooks({ path, value }: Placed): readonly PlacedProblem[] {
  const { standardWebhooks, sharedSecret } = isJsonObject(value) ? value : {}
  if (standardWebhooks !== true || typeof sharedSecret === 'string') return []
  const message = 'Cannot use true: there is no sharedSecret to sign the webhooks with'
  const hint = 'Set sharedSecret, or give { "secrets": [...] }.'
  return [{ path: [...path, 'standardWebhooks'], message, hint }]
}

function checkEndpointSettings(endpoints: readonly EndpointSettings[], guard?: AddressGuard): void {
  checkDestination({ id: '', sourceIds: [], endpoints }, guard)
}

/** Runs a check, and turns a SettingError into a problem. */
function refusal(
  location: DocumentPath | ((error: SettingError) => DocumentPath),
  check: () => unknown,
): readonly PlacedProblem[] {
  try {
    check()
    return []
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    const path = typeof location === 'function' ? location(error) : location
    return [{ path, message: error.message, hint: error.hint }]
  }
}
