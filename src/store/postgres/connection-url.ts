/** How every session is set up. */
const sessionSettings = [
  // Compiling a statement takes longer than running one of these.
  '-c jit=off',
  // A few rows of a queue are found by its indexes, however large a part of it they are at the moment:
  // whatever reads all of it, or gathers first and sorts later, is slow as soon as it has grown.
  '-c enable_seqscan=off',
  '-c enable_bitmapscan=off',
  '-c random_page_cost=1.1',
  // A plan for a batch of ten does not suit one of a thousand.
  '-c plan_cache_mode=force_custom_plan',
]

/** Modes that `pg` takes for `verify-full`, as is told below, and warns about. */
const checkedModes = ['prefer', 'require', 'verify-ca']

/** Tells whether a URL names a PostgreSQL. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(url)
}

/** A URL as people may read it: user, host and database, and nothing that could be a secret. */
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
 * A URL that can be used with all that could be secret masked: the password, and parameters but those that
 * are known to be none.
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
 * The URL that is given to `pg`: as it was written, with the settings of our sessions added.
 *
 * `sslmode` set to anything but `disable` and `no-verify` means an encrypted connection to a server
 * whose certificate and name are checked: also `require`, which `psql` takes for less. With
 * `uselibpqcompat=true` every mode means what it means there.
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
