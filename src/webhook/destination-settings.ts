import type { AddressGuard } from '../http/index.ts'
import {
  AddressRefusedError,
  checkUrl,
  hiddenEndpoint,
  limits,
  messageOf,
  SettingError,
  systemCode,
  type Destination,
  type Endpoint,
} from '../model/index.ts'

/**
 * The settings of a destination, before {@link checkDestination} checks them. By default, a destination is enabled,
 * accepts historical events, and gets 10 requests at once per endpoint. The ids in webhooks of alias
 * calls have the names of the specification.
 */
export interface DestinationSettings
  extends
    Pick<Destination, 'id' | 'sourceIds'>,
    Partial<Omit<Destination, 'id' | 'sourceIds' | 'endpoints'>> {
  /** One to five. */
  readonly endpoints: readonly EndpointSettings[]
}

/** A URL that receives webhooks, and how to send to it. It has no static headers by default. */
export type EndpointSettings = Omit<Endpoint, 'headers'> & Partial<Pick<Endpoint, 'headers'>>

const concurrencyDefault = 10

/** Set by evroute or the connection. Signature and trace headers are reserved even while they are turned off. */
const reservedHeaders = new Set([
  'host',
  'content-length',
  'content-type',
  'user-agent',
  'x-signature',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'traceparent',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
])

/** A problem with the host name of an endpoint. */
export interface NameFinding {
  /** `refused`: the address is forbidden. `unresolved`: the look-up failed, but may succeed later. */
  readonly kind: 'refused' | 'unresolved'
  /** The setting's name, such as `endpoints[1].url`. */
  readonly setting: string
  /** A sentence without its final period. */
  readonly message: string
}

/**
 * Copies, checks and freezes the settings of a destination. Doesn't check its numbers and rates, which the schema of a
 * configuration checks.
 *
 * @param guard - refuses URLs with forbidden IP addresses. {@link checkNames} checks host names
 * @throws SettingError that names the setting and the values it accepts
 */
export function checkDestination(settings: DestinationSettings, guard?: AddressGuard): Destination {
  const { endpoints, concurrency = concurrencyDefault } = settings
  if (endpoints.length === 0 || endpoints.length > limits.endpointsMax) {
    throw new SettingError(
      'endpoints',
      `Cannot use ${endpoints.length} URLs: a destination must have 1 to ${limits.endpointsMax} endpoints`,
    )
  }
  const checked = endpoints.map((endpoint, index) => checkEndpoint(endpoint, index, guard))
  refuseRepeats(checked)
  return Object.freeze({
    id: settings.id,
    sourceIds: Object.freeze([...settings.sourceIds]),
    enabled: settings.enabled ?? true,
    endpoints: Object.freeze(checked),
    sharedSecret: settings.sharedSecret === '' ? undefined : settings.sharedSecret,
    aliasKeys: settings.aliasKeys ?? 'spec',
    acceptsHistorical: settings.acceptsHistorical ?? true,
    filter: settings.filter,
    concurrency,
    retryStatuses: settings.retryStatuses,
    backlogMax: settings.backlogMax,
  })
}

/** Looks up the host names of endpoints, to report mistakes early. Does nothing if a proxy resolves the names. */
export async function checkNames(
  { endpoints }: Destination,
  guard: AddressGuard,
): Promise<readonly NameFinding[]> {
  if (guard.proxy !== undefined) return []
  const findings = await Promise.all(
    endpoints.map(({ url }, index) => checkName(url, `endpoints[${index}].url`, guard)),
  )
  return findings.filter((finding) => finding !== undefined)
}

async function checkName(
  url: string,
  setting: string,
  guard: AddressGuard,
): Promise<NameFinding | undefined> {
  const { hostname } = new URL(url)
  try {
    await guard.resolve(hostname)
    return undefined
  } catch (error) {
    if (error instanceof AddressRefusedError) {
      return { kind: 'refused', setting, message: error.message }
    }
    const reason = systemCode(error) ?? messageOf(error)
    const message = `Cannot resolve ${hostname}: ${reason}. Webhooks to this host fail until its name resolves`
    return { kind: 'unresolved', setting, message }
  }
}

function checkEndpoint(
  settings: EndpointSettings,
  index: number,
  guard: AddressGuard | undefined,
): Endpoint {
  const setting = `endpoints[${index}]`
  const url = checkUrl(`${setting}.url`, settings.url)
  const refusal = guard?.refusalOf(new URL(url).hostname)
  if (refusal !== undefined) throw new SettingError(`${setting}.url`, refusal.message)
  const headers = Object.entries(settings.headers ?? {})
  for (const [name, value] of headers) checkHeader({ name, value, setting })
  const { rate, tls } = settings
  if (tls !== undefined && !url.startsWith('https:')) {
    throw new SettingError(`${setting}.tls`, 'Cannot use certificates: the URL is not https')
  }
  return Object.freeze({
    url,
    headers: Object.freeze(Object.fromEntries(headers)),
    ...(rate === undefined ? {} : { rate }),
    ...(tls === undefined ? {} : { tls: Object.freeze({ ...tls }) }),
  })
}

function checkHeader(header: { name: string; value: string; setting: string }): void {
  const { name, value } = header
  const setting = `${header.setting}.headers`
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new SettingError(
      setting,
      `Cannot send the header "${name}": it is not a valid header name`,
    )
  }
  if (reservedHeaders.has(name.toLowerCase())) {
    throw new SettingError(
      setting,
      `Cannot send a static header ${name}: evroute or the connection sets it`,
      'Use a name of your own, such as X-Team.',
    )
  }
  // A header can carry only printable Latin-1 and tabs unchanged.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new SettingError(
      setting,
      `Cannot send the header ${name}: its value has characters that a header cannot carry`,
    )
  }
}

function refuseRepeats(endpoints: readonly Endpoint[]): void {
  const repeated = endpoints.find(
    ({ url }, index) => endpoints.findIndex((other) => other.url === url) < index,
  )
  if (repeated === undefined) return
  throw new SettingError(
    'endpoints',
    `Cannot list ${hiddenEndpoint(repeated.url)} twice: each endpoint must have a different URL`,
  )
}
