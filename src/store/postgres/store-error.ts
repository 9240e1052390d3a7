import { EvrouteError, messageOf, StoreUnusableError } from '../../model/index.ts'
import { moveOpenCode } from './move-tables.ts'

/** What an error of PostgreSQL, of the connection or of `pg` means for a store. */
interface Meaning {
  /** Whether it may pass by itself. */
  readonly isTemporary: boolean
  /** What to do about it. */
  readonly hint: string
}

/** Errors that are known by their code. */
interface Kind extends Meaning {
  /** How it begins: an SQLSTATE, or a name that the operating system or TLS has. */
  readonly codes: readonly string[]
}

/** Errors whose code is that of others as well, or that have none. */
interface SaidKind extends Meaning {
  /** What they say. */
  readonly says: RegExp
}

const reachHint =
  'Check that the server runs, and that its host and port are right; what was refused can then be sent again.'

const passwordHint = 'Check the user and the password in the URL, and pg_hba.conf on the server.'

/** Where none fits, as where the server speaks another language, the code decides. */
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

/** The first kind whose code fits is the right one. */
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

/** A TLS connection that was refused says so in a code of its own. */
const tlsHint =
  'Name the certificate of its authority with sslrootcert=<file> in the URL, or see sslmode.'

/** What `pg` says without a code: the connection is gone, or was never there. */
const connectionGone = /connection (?:terminated|error|ended)|query read timeout|timeout expired/i

/**
 * SQLSTATEs after which the same transaction can simply be tried again. The last one says that a table is
 * not any more what it was when the connection parsed a statement: another one knows it as it is.
 */
const conflictCodes: readonly string[] = ['40001', '40P01', '0A000']

/** SQLSTATE of a row that no partition of its table takes. */
const checkViolation = '23514'

/** Tells whether processes got in each other's way, and nothing was written. */
export function isConflict(error: unknown): boolean {
  return conflictCodes.includes(codeOf(error))
}

/** Tells whether there is no partition for a row. */
export function isPartitionMissing(error: unknown): boolean {
  return codeOf(error) === checkViolation
}

/** Tells whether others held what was asked for, for longer than it was waited. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** What callers get to know of an error that PostgreSQL or `pg` reported: always `store_unusable`. */
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

/** What `pg` says of a connection that others have in use, and not of one that cannot be made. */
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

/** What every method answers after `close()`. */
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
  // A server that asks for a password where there is none.
  if (/SASL|password/.test(messageOf(error))) return { isTemporary: false, hint: passwordHint }
  if (
    /CERT|TLS|SSL|ISSUER|UNABLE_TO_VERIFY/.test(code) ||
    /SSL|sslrootcert/.test(messageOf(error))
  ) {
    return { isTemporary: false, hint: tlsHint }
  }
  return { isTemporary: false, hint: 'Check the server, its log, and the URL of the store.' }
}

/** A file that the URL names. */
function isUnreadable(error: unknown): boolean {
  const { syscall } = (error ?? {}) as { readonly syscall?: unknown }
  return syscall === 'open' || syscall === 'read'
}

/** A server that is not running has no socket in its folder. */
function isSocketMissing(error: unknown): boolean {
  return (error as { syscall?: unknown } | null | undefined)?.syscall === 'connect'
}

/** A host with several addresses that all refuse has an error without a message. */
function reasonOf(error: unknown): string {
  const reasons = error instanceof AggregateError ? error.errors.map(messageOf) : []
  const reason = reasons.length > 0 ? reasons.join(', ') : messageOf(error)
  return reason === '' ? codeOf(error) : reason
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : ''
}
