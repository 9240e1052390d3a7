import { EvrouteError, messageOf, StoreUnusableError } from '../../model/index.ts'

/** A hint for errors whose code begins with one of `codes`. Codes are SQLSTATEs, or come from Node or TLS. */
type Hint = readonly [codes: readonly string[], hint: string]

const reachHint =
  'Check that the server is running, and check its host and port. Refused calls can then be sent again.'
const passwordHint = 'Check the user and the password in the URL, and pg_hba.conf on the server.'

/** Hints for errors that may go away by themselves; longer codes come before their prefixes. */
const temporary: readonly Hint[] = [
  [
    ['25006'],
    'Name the primary server in the URL: a standby is read-only. On a primary, check default_transaction_read_only.',
  ],
  [['53300'], 'Raise max_connections on the server, or close connections of other programs.'],
  [['53100', '58030'], "Free up space on the server's disk. Refused calls can then be sent again."],
  [
    ['55P03'],
    'Another transaction holds a lock, such as that of `evroute migrate` or VACUUM FULL: look for it in pg_stat_activity.',
  ],
  [
    ['53', '40', '57014', '25P03', '25P04'],
    'The server is overloaded: check what else uses it, and VACUUM its tables.',
  ],
  [['08', '57P', 'ECONN', 'EPIPE', 'ETIMEDOUT', 'EHOST', 'ENET', 'ENOTFOUND', 'EAI_'], reachHint],
]

/** Hints for errors that an operator must correct. */
const lasting: readonly Hint[] = [
  [['28'], passwordHint],
  [['3D000'], 'Create the database with CREATE DATABASE, or name a different one in the URL.'],
  [
    ['3F000'],
    'The schema in search_path does not exist, or the user may not use it. Create it with CREATE SCHEMA, or GRANT CREATE, USAGE ON SCHEMA to the user.',
  ],
  [
    ['42501'],
    'Allow the user to create tables and to use the tables of the store: GRANT CREATE, USAGE ON SCHEMA public TO the user. Or give the user a schema of its own.',
  ],
  [
    ['42P01', '42703'],
    'Tables of the store are missing or changed: restore them, or name a different database.',
  ],
  [
    ['42P05', '26000'],
    'A pooler mixes sessions up: set max_prepared_statements in PgBouncer, or use its session mode.',
  ],
  [
    ['ERR_TLS_CERT_ALTNAME_INVALID'],
    "In the URL, use a host name that the server's certificate contains.",
  ],
  [
    ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
    "Renew the server's certificate, and check the clock of this machine.",
  ],
  [
    ['ERR_OSSL_'],
    'Check the files that sslrootcert, sslcert and sslkey name in the URL: they must be PEM, and the key must match the certificate.',
  ],
  [
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'ERR_SSL_SSLV3_ALERT_', 'ERR_SSL_TLSV13_ALERT_'],
    'The server refuses the sslcert certificate: check ssl_ca_file on the server, and its log.',
  ],
]

/**
 * Hints by message, for errors that an operator must correct and whose code is missing or ambiguous. If the server
 * speaks a different language, the code decides.
 */
const said: readonly (readonly [message: RegExp, hint: string])[] = [
  [
    /unsupported (?:options )?startup parameter/,
    'Name the server itself in the URL, not a pooler such as PgBouncer. Or make the pooler ignore the parameters that it refuses: ignore_startup_parameters = options, statement_timeout, lock_timeout, idle_in_transaction_session_timeout.',
  ],
  [
    /pg_hba\.conf.* (?:no encryption|SSL off)$/,
    'The server may require TLS: try sslmode=verify-full in the URL. If that does not help, check pg_hba.conf on the server.',
  ],
  [
    /requires a valid client certificate/,
    'Name a certificate for the user with sslcert=<file> in the URL, and its key with sslkey=<file>.',
  ],
  [
    /does not support SSL/,
    'Set ssl = on on the server, or sslmode=disable in the URL if you trust the network.',
  ],
]

/**
 * Messages of `pg` without a code, about a connection that was lost or could not be made. The last one also means that
 * the server could not start a process for the connection.
 */
const connectionGone =
  /connection (?:terminated|error|ended)|query read timeout|timeout expired|error establishing an SSL connection/i

/**
 * SQLSTATEs after which the same transaction can be retried. The last one means that a table has changed since the
 * connection prepared a statement.
 */
const conflictCodes: readonly string[] = ['40001', '40P01', '0A000']

/** Tells whether a transaction failed because of a conflict, so that nothing was written. */
export function isConflict(error: unknown): boolean {
  return conflictCodes.includes(codeOf(error))
}

/** Tells whether an error means that a row has no partition. */
export function isPartitionMissing(error: unknown): boolean {
  return codeOf(error) === '23514'
}

/** Tells whether an error means that a lock was not free in time. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** Turns an error of PostgreSQL or `pg` into `store_unusable`. Returns an EvrouteError unchanged. */
export function storeError(name: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  const [reason, isTemporary, hint] = meaningOf(error)
  const message = `Cannot use the store ${name}: ${reason}`
  return new StoreUnusableError({ message, hint, cause: error, isTemporary })
}

type Meaning = readonly [reason: string, isTemporary: boolean, hint: string]

function meaningOf(error: unknown): Meaning {
  const message = messageOf(error)
  const code = codeOf(error)
  if (message.includes('timeout exceeded when trying to connect')) {
    const hint =
      'Check in pg_stat_activity what the connections are waiting for. Refused calls can then be sent again.'
    return ['all connections of this process were in use for too long', true, hint]
  }
  const reason = reasonOf(error)
  const needed = said.find(([text]) => text.test(message))?.[1] ?? hintFor(code, lasting)
  if (needed !== undefined) return [reason, false, needed]
  const passing = hintFor(code, temporary)
  return passing === undefined ? meaningOfUnknown(error, reason) : [reason, true, passing]
}

function meaningOfUnknown(error: unknown, reason: string): Meaning {
  const message = messageOf(error)
  const { syscall } = (error ?? {}) as { readonly syscall?: unknown }
  // Temporary, because a file can be missing for a moment while it is being replaced.
  if (syscall === 'open' || syscall === 'read') {
    return [reason, true, 'Check the files that sslrootcert, sslcert and sslkey name in the URL.']
  }
  // Every failed connection counts, also with a code such as ENOENT: a server that is not running has no socket file.
  if (syscall === 'connect' || connectionGone.test(message)) return [reason, true, reachHint]
  // The server asks for a password, but the URL has none.
  if (/SASL|password/.test(message)) return [reason, false, passwordHint]
  const isTls =
    /CERT|TLS|SSL|ISSUER|UNABLE_TO_VERIFY/.test(codeOf(error)) || /SSL|sslrootcert/.test(message)
  const hint = isTls
    ? 'Name the CA certificate with sslrootcert=<file> in the URL, or change sslmode.'
    : 'Check the server, its log, and the URL of the store.'
  return [reason, false, hint]
}

function hintFor(code: string, hints: readonly Hint[]): string | undefined {
  return hints.find(([codes]) => codes.some((prefix) => code.startsWith(prefix)))?.[1]
}

/** Joins the errors for all addresses of a host, because an AggregateError itself has no message. */
function reasonOf(error: unknown): string {
  const reasons = error instanceof AggregateError ? error.errors.map(messageOf) : []
  const reason = reasons.length > 0 ? reasons.join(', ') : messageOf(error)
  return reason === '' ? codeOf(error) : reason
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
