/** The settings of every session. */
const sessionSettings = [
  // Compiling one of these statements takes longer than running it.
  '-c jit=off',
  // Indexes find a few rows of a queue, even while these are a large part of the table. A plan that reads the
  // whole table, or sorts it first, is slow as soon as the table has grown.
  '-c enable_seqscan=off',
  '-c enable_bitmapscan=off',
  '-c random_page_cost=1.1',
  // A plan for a batch of ten does not suit one of a thousand.
  '-c plan_cache_mode=force_custom_plan',
]

/** Modes that `pg` treats as `verify-full` and warns about. See {@link sessionUrl}. */
const checkedModes = ['prefer', 'require', 'verify-ca']

/** Tells whether a URL names a PostgreSQL. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(url)
}

/** A URL for messages: user, host and database, without anything that could be secret. */
export function readableUrl(url: string): string {
  const [scheme = ''] = /^[a-z]+:\/\//i.exec(url) ?? []
  const rest = url.slice(scheme.length)
  const at = rest.lastIndexOf('@')
  const [user = ''] = rest.slice(0, Math.max(at, 0)).split(/[:?#]/)
  const [place = ''] = rest.slice(at + 1).split(/[?#]/)
  return `${scheme}${user === '' ? '' : `${user}@`}${place}`
}

/** Parameters that hold nothing secret. */
const openParameters = [
  'application_name',
  'host',
  'options',
  'port',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'uselibpqcompat',
  'user',
]

/**
 * A usable URL in which everything that could be secret is masked: the password, and each parameter
 * that is not known to be harmless.
 */
export function maskedUrl(url: string, mask: string): string {
  const [, scheme = '', userInfo, place = '', query] =
    /^([a-z]+:\/\/)(?:([^/?]*)@)?([^?]*)(?:\?([^]*))?$/i.exec(url) ?? []
  const user = userInfo === undefined ? '' : `${userInfo.replace(/:[^]*/, `:${mask}`)}@`
  const parameters = query === undefined ? '' : `?${maskedQuery(query, mask)}`
  return `${scheme}${user}${place}${parameters}`
}

function maskedQuery(query: string, mask: string): string {
  const parameters = query.split('&').map((parameter) => {
    const [name = ''] = parameter.split('=')
    return name === '' || openParameters.includes(name) ? parameter : `${name}=${mask}`
  })
  return parameters.join('&')
}

/**
 * The URL for `pg`: as it was written, with the settings of our sessions added.
 *
 * Every `sslmode` except `disable` and `no-verify` means an encrypted connection to a server whose
 * certificate and name are checked. This includes `require`, which checks neither in `psql`. With
 * `uselibpqcompat=true` every mode has its meaning in `psql`.
 */
export function sessionUrl(url: string, { isReadOnly }: { readonly isReadOnly: boolean }): string {
  const place = url.indexOf('?')
  const base = place < 0 ? url : url.slice(0, place)
  const parameters = new URLSearchParams(place < 0 ? '' : url.slice(place + 1))
  const access = isReadOnly ? ['-c default_transaction_read_only=on'] : []
  const options = [...sessionSettings, ...access, ...parameters.getAll('options')]
  parameters.set('options', options.join(' '))
  const sslMode = parameters.get('sslmode')
  const isPlain = parameters.get('uselibpqcompat') !== 'true'
  if (isPlain && sslMode !== null && checkedModes.includes(sslMode)) {
    parameters.set('sslmode', 'verify-full')
  }
  return `${base}?${parameters.toString()}`
}
