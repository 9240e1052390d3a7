import { EvrouteError, messageOf, StoreUnusableError } from '../../model/index.ts'
import { DamagedRowError } from '../store-errors.ts'

/** An error of SQLite. */
interface Kind {
  /** SQLite's primary result code: the low eight bits of an error's code. */
  readonly code: number
  /** Its message, because one binding omits the code when it reads all rows. */
  readonly message: string
  readonly hint: string
  /**
   * Whether it may go away by itself: when another program releases the file, or when there is room or
   * permission to write again.
   */
  readonly isTemporary: boolean
}

const corruptHint = 'Restore it from a backup, or name a different file.'

const kinds = {
  busy: {
    code: 5,
    message: 'database is locked',
    hint: 'Another program has locked the file: stop that program, and try again.',
    isTemporary: true,
  },
  readOnly: {
    code: 8,
    message: 'attempt to write a readonly database',
    hint: 'Give this user write permission for the file and its folder.',
    isTemporary: true,
  },
  inputOutput: {
    code: 10,
    message: 'disk I/O error',
    hint: 'Free space on the disk or raise the file size limit, and check the health of the disk. Refused calls can then be sent again.',
    isTemporary: true,
  },
  corrupt: {
    code: 11,
    message: 'database disk image is malformed',
    hint: corruptHint,
    isTemporary: false,
  },
  full: {
    code: 13,
    message: 'database or disk is full',
    hint: 'Free space on the disk. Refused calls can then be sent again.',
    isTemporary: true,
  },
  cannotOpen: {
    code: 14,
    message: 'unable to open database file',
    hint: 'Check that the file and its folder exist and are accessible.',
    isTemporary: false,
  },
  notDatabase: {
    code: 26,
    message: 'file is not a database',
    hint: 'Name a different file. A delivery creates it if it does not exist.',
    isTemporary: false,
  },
} satisfies Record<string, Kind>

/** Tells whether an error means that another connection holds a lock. */
export function isBusy(error: unknown): boolean {
  return isOneOf(error, 'busy')
}

/** Tells whether an error means that SQLite had no room in the file or in a temporary file. */
export function isWithoutRoom(error: unknown): boolean {
  return isOneOf(error, 'inputOutput', 'full', 'cannotOpen')
}

/** Tells whether an error means that SQLite cannot read a store without permission to write beside it. */
export function isWriteRefused(error: unknown): boolean {
  return isOneOf(error, 'readOnly', 'cannotOpen')
}

/** Turns an error of SQLite into `store_unusable`; leaves an EvrouteError as it is. */
export function storeError(path: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  const kind = kindOf(error)
  const hint = error instanceof DamagedRowError ? corruptHint : kind?.hint
  return new StoreUnusableError({
    message: `Cannot use the store ${path}: ${messageOf(error)}`,
    hint: hint ?? 'Check the file, its folder and its disk.',
    cause: error,
    isTemporary: kind?.isTemporary ?? false,
  })
}

function isOneOf(error: unknown, ...names: readonly (keyof typeof kinds)[]): boolean {
  const kind = kindOf(error)
  return names.some((name) => kinds[name] === kind)
}

function kindOf(error: unknown): Kind | undefined {
  const code = (error as { errcode?: unknown } | null | undefined)?.errcode
  const isKind =
    typeof code === 'number'
      ? (kind: Kind): boolean => kind.code === (code & 0xff)
      : (kind: Kind): boolean => kind.message === messageOf(error)
  return Object.values<Kind>(kinds).find(isKind)
}
