import { StoreUnusableError } from '../../delivery/index.ts'
import { EvrouteError, messageOf } from '../../model/index.ts'

/** What an error of PostgreSQL, of the connection or of `pg` means for a store. */
interface Kind {
  /** How its code begins: an SQLSTATE, or a name that the operating system has. */
  readonly codes: readonly string[]
  /** Whether it may pass by itself. */
  readonly isTemporary: boolean
  /** What to do about it. */
  readonly hint: string
}

const reachHint =
  'Check that the server runs, and that its host and port are right; what was refused can then be sent again.'

const passwordHint = 'Check the user and the password in the URL, and pg_hba.conf on the server.'

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
    codes: ['ECONN', 'EPIPE', 'ETIMEDOUT', 'EHOST', 'ENET', 'ENOTFOUND', 'EAI_'],
    isTemporary: true,
    hint: reachHint,
  },
]

/** A TLS connection that was refused says so in a code of its own. */
const tlsHint =
  'Name the certificate of its authority with sslrootcert=<file> in the URL, or see sslmode.'

/** What `pg` says without a code: the connection is gone, or was never there. */
const connectionGone =
  /connection (?:terminated|error|ended)|timeout exceeded when trying to connect|query read timeout|timeout expired/i

/** SQLSTATEs after which the same transaction can simply be tried again. */
const conflictCodes: readonly string[] = ['40001', '40P01']

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

/** What callers get to know of an error that PostgreSQL or `pg` reported: always `store_unusable`. */
export function storeError(name: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  const { isTemporary, hint } = kindOf(error)
  return new StoreUnusableError({
    message: `Cannot use the store ${name}: ${reasonOf(error)}`,
    hint,
    cause: error,
    isTemporary,
  })
}

/** What every method answers after `close()`. */
export function closedError(): EvrouteError {
  return new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
}

function kindOf(error: unknown): Omit<Kind, 'codes'> {
  const code = codeOf(error)
  const known = kinds.find(({ codes }) => codes.some((begin) => code.startsWith(begin)))
  if (known !== undefined) return known
  if (isSocketMissing(error) || connectionGone.test(messageOf(error))) {
    return { isTemporary: true, hint: reachHint }
  }
  // A server that asks for a password where there is none.
  if (/SASL|password/.test(messageOf(error))) return { isTemporary: false, hint: passwordHint }
  if (/CERT|TLS|SSL|ISSUER/.test(code) || /SSL/.test(messageOf(error))) {
    return { isTemporary: false, hint: tlsHint }
  }
  return { isTemporary: false, hint: 'Check the server, its log, and the URL of the store.' }
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
