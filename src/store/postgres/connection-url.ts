import { nearestName, parseUrl } from '../../model/index.ts'
import type { UrlRefusal } from '../store-errors.ts'

const sessionSettings = [
  // JIT compilation of these statements takes longer than running them.
  '-c jit=off',
  // Always use indexes, even to read most of a table: a plan that scans or sorts a whole table gets slow as it grows.
  '-c enable_seqscan=off',
  '-c enable_bitmapscan=off',
  '-c random_page_cost=1.1',
  // The statements expect this level. With a stricter default of the database or user, transactions would conflict.
  '-c default_transaction_isolation=read\\ committed',
]

/** How a session may be used. */
export interface SessionUse {
  /** Whether to make the server refuse writes on this connection. */
  readonly isReadOnly: boolean
  /** Whether to reuse the plans of named statements; false by default. Planning can cost as much as running. */
  readonly keepsPlans?: boolean
}

/** Values of `sslmode` that `pg` treats as `verify-full`, with a warning. See {@link sessionUrl}. */
const checkedModes = ['prefer', 'require', 'verify-ca']

/** Tells whether a URL names a PostgreSQL database. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(url)
}

/** Returns the name of a store for messages and logs. For a server it has neither password nor parameters. */
export function storeName(url: string): string {
  if (!isPostgresUrl(url)) return url
  const [scheme = ''] = /^[a-z]+:\/\//i.exec(url) ?? []
  const rest = url.slice(scheme.length)
  const at = rest.lastIndexOf('@')
  const [user = ''] = rest.slice(0, Math.max(at, 0)).split(/[:?#]/)
  const [target = ''] = rest.slice(at + 1).split(/[?#]/)
  return `${scheme}${user === '' ? '' : `${user}@`}${target}`
}

/** Parameters that hold nothing secret. */
const openParameters = [
  ...['application_name', 'host', 'options', 'port', 'uselibpqcompat', 'user'],
  ...['ssl', 'sslcert', 'sslkey', 'sslmode', 'sslrootcert'],
]

/** Replaces the password in a store's URL by `mask`, and the value of each parameter that may be secret. */
export function maskedStoreUrl(url: string, mask: string): string {
  if (!isPostgresUrl(url)) return url
  const [, scheme = '', userInfo, target = '', query] =
    /^([a-z]+:\/\/)(?:([^/?]*)@)?([^?]*)(?:\?([^]*))?$/i.exec(url) ?? []
  const user = userInfo === undefined ? '' : `${userInfo.replace(/:[^]*/, `:${mask}`)}@`
  const parameters = query?.split('&').map((parameter) => {
    const [name = ''] = parameter.split('=')
    return name === '' || openParameters.includes(name) ? parameter : `${name}=${mask}`
  })
  return `${scheme}${user}${target}${parameters === undefined ? '' : `?${parameters.join('&')}`}`
}

/**
 * Adds the settings of evroute's sessions to a URL, for `pg`.
 *
 * Every `sslmode` except `disable` and `no-verify` encrypts, and checks the server's certificate and name. In `psql`,
 * `require` checks neither. With `uselibpqcompat=true`, all modes work as in `psql`.
 */
export function sessionUrl(url: string, { isReadOnly, keepsPlans = false }: SessionUse): string {
  const [base = '', ...query] = url.split('?')
  const parameters = new URLSearchParams(query.join('?'))
  const access = isReadOnly ? ['-c default_transaction_read_only=on'] : []
  const planning = keepsPlans ? [] : ['-c plan_cache_mode=force_custom_plan']
  const options = [...sessionSettings, ...planning, ...access, ...parameters.getAll('options')]
  parameters.set('options', options.join(' '))
  const sslMode = parameters.get('sslmode')
  const isPlain = parameters.get('uselibpqcompat') !== 'true'
  if (isPlain && sslMode !== null && checkedModes.includes(sslMode)) {
    parameters.set('sslmode', 'verify-full')
  }
  return `${base}?${parameters.toString()}`
}

/** The values that `pg` accepts. */
const sslParameters = {
  sslmode: ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'],
  ssl: ['1', '0', 'true', 'no-verify'],
}

const formHint = 'Write it as postgres://user:password@host:5432/database.'

/** Quotes no part of the URL, because in a malformed URL any part can be the password. */
const misread: UrlRefusal = {
  why: 'it has a character that must be percent-encoded or is not allowed in a URL',
  hint: 'In the user, the password and the database, write / as %2F, @ as %40, # as %23, ? as %3F, % as %25, a space as %20.',
}

/** Returns why a PostgreSQL URL is refused, without connecting; undefined for good ones and other engines. */
export function serverUrlRefusal(url: string): UrlRefusal | undefined {
  if (!isPostgresUrl(url)) return undefined
  const [, authority = '', path = '', , query = ''] =
    /^[a-z]+:\/\/([^/?]*)([^?]*)(\?([^]*))?$/i.exec(url) ?? []
  if (isMisread(url, authority + path) || /@/.test(path + query)) return misread
  const refusal = hostRefusal(authority.slice(authority.lastIndexOf('@') + 1))
  if (refusal !== undefined) return refusal
  if (path.slice(1).includes('/')) {
    return { why: 'its path must be only the name of a database', hint: formHint }
  }
  return parametersRefusal(new URLSearchParams(query))
}

function isMisread(url: string, base: string): boolean {
  if (/\p{Cc}|#|%(?![\da-f]{2})/iu.test(url) || base.includes(' ')) return true
  try {
    decodeURIComponent(url)
    return false
  } catch {
    return true
  }
}

/** Accepts a missing host, because it may come from PostgreSQL's environment variables or defaults. */
function hostRefusal(host: string): UrlRefusal | undefined {
  if (host.includes(',')) return severalHosts
  const port = /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1]
  const isUrl = host === '' || parseUrl(`postgres://${host}/`) !== undefined
  if (isUrl && (port === undefined || isPort(port))) return undefined
  return { why: 'its host or port is invalid', hint: formHint }
}

const severalHosts: UrlRefusal = {
  why: 'it must name only one host',
  hint: 'Name the primary, or a proxy in front of all servers.',
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
}

function parametersRefusal(parameters: URLSearchParams): UrlRefusal | undefined {
  const port = parameters.get('port')
  if (port !== null && !isPort(port))
    return { why: 'its port must be a number from 1 to 65535', hint: formHint }
  if (parameters.get('host')?.includes(',') === true) return severalHosts
  for (const [name, values] of Object.entries(sslParameters)) {
    const value = parameters.get(name)
    if (value === null || values.includes(value)) continue
    const meant = nearestName(value, values)
    const hint =
      meant === undefined ? `Use one of these, or leave ${name} out.` : `Did you mean ${meant}?`
    return { why: `its ${name} must be one of ${values.join(', ')}`, hint }
  }
  return undefined
}
