import { EvrouteError, messageOf, StoreUnusableError } from '../../model/index.ts'
import { moveOpenCode } from './move-tables.ts'

/** The meaning of an error of PostgreSQL, of the connection or of `pg` for a store. */
interface Meaning {
  /** Whether it may end without help. */
  readonly isTemporary: boolean
  /** What to do about it. */
  readonly hint: string
}

/** Errors with a code that identifies them. */
interface Kind extends Meaning {
  /** How the code begins: an SQLSTATE, or a name of the operating system or of TLS. */
  readonly codes: readonly string[]
}

/** Errors without a code, or with one that others also have. */
interface SaidKind extends Meaning {
  /** Their messages. */
  readonly says: RegExp
}

const reachHint =
  'Check that the server runs, and that its host and port are right; what was refused can then be sent again.'

const passwordHint = 'Check the user and the password in the URL, and pg_hba.conf on the server.'

/** If none fits, for example because the server speaks another language, the code decides. */
const saidKinds: readonly SaidKind[] = [
  {
    says: /unsupported (?:options )?startup parameter/,
    isTemporary: false,
    hint: 'Name the server in the URL and not a pooler such as PgBouncer, or let that ignore what it refuses: ignore_startup_parameters = options, statement_timeout, lock_timeout, idle_in_transaction_session_timeout.',
  },
  {
    says: /pg_hba\.conf.* (?:no encryption|SSL off)$/,
    isTemporary: false,
    hint: 'The server may ask for TLS: try sslmode=verify-full in the URL. If it does not, see pg_hba.conf there.',
  },
  {
    says: /requires a valid client certificate/,
    isTemporary: false,
    hint: 'Name a certificate for the user with sslcert=<file> in the URL, and its key with sslkey=<file>.',
  },
  {
    says: /does not support SSL/,
    isTemporary: false,
    hint: 'Set ssl = on on the server, or sslmode=disable in the URL where the network can be trusted.',
  },
]

/** The first kind whose code fits applies. */
const kinds: readonly Kind[] = [
  {
    codes: ['28'],
    isTemporary: false,
    hint: passwordHint,
  },
  {
    codes: ['3D000'],
    isTemporary: false,
    hint: 'Make the database with CREATE DATABASE, or name another one in the URL.',
  },
  {
    codes: ['42501', '3F000'],
    isTemporary: false,
    hint: 'Let the user make tables: GRANT CREATE, USAGE ON SCHEMA public TO the user, or make it one of its own.',
  },
  {
    codes: ['42P01', '42703'],
    isTemporary: false,
    hint: 'Tables of the store are missing or changed: restore them, or name another database.',
  },
  {
    codes: [moveOpenCode],
    isTemporary: true,
    hint: 'Wait until `evroute migrate` has ended, or run it again as before: it goes on where it was.',
  },
  {
    codes: ['25006'],
    isTemporary: true,
    hint: 'Name the primary server in the URL: a standby can only be read.',
  },
  {
    codes: ['53300'],
    isTemporary: true,
    hint: 'Raise max_connections on the server, or let fewer programs use it.',
  },
  {
    codes: ['53100', '58030'],
    isTemporary: true,
    hint: "Make room on the server's disk; what was refused can then be sent again.",
  },
  {
    codes: ['53', '40', '55P03', '57014', '25P03'],
    isTemporary: true,
    hint: 'The server has too much to do: see what else it is used for, and VACUUM its tables.',
  },
  {
    codes: ['08', '57P'],
    isTemporary: true,
    hint: reachHint,
  },
  {
    codes: ['42P05', '26000'],
    isTemporary: false,
    hint: 'A pooler mixes sessions up: set max_prepared_statements in PgBouncer, or use its session mode.',
  },
  {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    isTemporary: false,
    hint: "Name the host in the URL as the server's certificate does.",
  },
  {
    codes: ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
    isTemporary: false,
    hint: "Renew the server's certificate, and check the clock of this machine.",
  },
  {
    codes: ['ERR_OSSL_'],
    isTemporary: false,
    hint: 'Check the files of sslrootcert, sslcert and sslkey in the URL: PEM, the key that of the certificate.',
  },
  {
    codes: ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'ERR_SSL_SSLV3_ALERT_', 'ERR_SSL_TLSV13_ALERT_'],
    isTemporary: false,
    hint: 'The server refuses the certificate of sslcert: see ssl_ca_file there, and its log.',
  },
  {
    codes: ['ECONN', 'EPIPE', 'ETIMEDOUT', 'EHOST', 'ENET', 'ENOTFOUND', 'EAI_'],
    isTemporary: true,
    hint: reachHint,
  },
]

/** Files are replaced while a service runs. */
const fileHint = 'Check the files that sslrootcert, sslcert and sslkey name in the URL.'

/** A refused TLS connection has a code of its own. */
const tlsHint =
  'Name the certificate of its authority with sslrootcert=<file> in the URL, or see sslmode.'

/** Messages of `pg` without a code: the connection is lost, or could not be made. */
const connectionGone = /connection (?:terminated|error|ended)|query read timeout|timeout expired/i

/**
 * SQLSTATEs after which the same transaction can be retried. The last one means that a table has
 * changed since the connection parsed a statement.
 */
const conflictCodes: readonly string[] = ['40001', '40P01', '0A000']

/** The SQLSTATE of a row without a partition. */
const checkViolation = '23514'

/** Tells whether transactions were in conflict, and nothing was written. */
export function isConflict(error: unknown): boolean {
  return conflictCodes.includes(codeOf(error))
}

/** Tells whether there is no partition for a row. */
export function isPartitionMissing(error: unknown): boolean {
  return codeOf(error) === checkViolation
}

/** Tells whether a lock was not free within the limit. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** The error for callers of one that PostgreSQL or `pg` reported: always `store_unusable`. */
export function storeError(name: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  if (isPoolFull(error)) return poolFullError(name, error)
  const { isTemporary, hint } = kindOf(error)
  return new StoreUnusableError({
    message: `Cannot use the store ${name}: ${reasonOf(error)}`,
    hint,
    cause: error,
    isTemporary,
  })
}

/** Tells whether all connections are in use, rather than that none can be made. */
function isPoolFull(error: unknown): boolean {
  return messageOf(error).includes('timeout exceeded when trying to connect')
}

function poolFullError(name: string, cause: unknown): EvrouteError {
  return new StoreUnusableError({
    message: `Cannot use the store ${name}: all connections of this process were in use for too long`,
    hint: 'See in pg_stat_activity what they wait for; what was refused can then be sent again.',
    cause,
    isTemporary: true,
  })
}

/** The error of every method after `close()`. */
export function closedError(): EvrouteError {
  return new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
}

function kindOf(error: unknown): Meaning {
  const code = codeOf(error)
  const said = saidKinds.find(({ says }) => says.test(messageOf(error)))
  if (said !== undefined) return said
  const known = kinds.find(({ codes }) => codes.some((begin) => code.startsWith(begin)))
  if (known !== undefined) return known
  if (isUnreadable(error)) return { isTemporary: true, hint: fileHint }
  if (isSocketMissing(error) || connectionGone.test(messageOf(error))) {
    return { isTemporary: true, hint: reachHint }
  }
  // The server asks for a password and the URL has none.
  if (/SASL|password/.test(messageOf(error))) return { isTemporary: false, hint: passwordHint }
  if (
    /CERT|TLS|SSL|ISSUER|UNABLE_TO_VERIFY/.test(code) ||
    /SSL|sslrootcert/.test(messageOf(error))
  ) {
    return { isTemporary: false, hint: tlsHint }
  }
  return { isTemporary: false, hint: 'Check the server, its log, and the URL of the store.' }
}

/** A file of the URL cannot be read. */
function isUnreadable(error: unknown): boolean {
  const { syscall } = (error ?? {}) as { readonly syscall?: unknown }
  return syscall === 'open' || syscall === 'read'
}

/** A server that does not run has no socket in its folder. */
function isSocketMissing(error: unknown): boolean {
  return (error as { syscall?: unknown } | null | undefined)?.syscall === 'connect'
}

/** If a host has several addresses and all refuse, the error has no message. */
function reasonOf(error: unknown): string {
  const reasons = error instanceof AggregateError ? error.errors.map(messageOf) : []
  const reason = reasons.length > 0 ? reasons.join(', ') : messageOf(error)
  return reason === '' ? codeOf(error) : reason
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
