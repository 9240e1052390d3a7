import { EvrouteError, messageOf, StoreUnusableError } from '../../model/index.ts'

/**
 * Errors of SQLite: the primary result code, the message, and a hint. Matched by message too, because one of the
 * SQLite packages omits the code when it reads all rows.
 */
const kinds = {
  busy: [
    5,
    'database is locked',
    'Another program has locked the file: stop that program, and try again.',
  ],
  readOnly: [
    8,
    'attempt to write a readonly database',
    'Give this user write permission for the file and its folder.',
  ],
  inputOutput: [
    10,
    'disk I/O error',
    'Free up space on the disk or raise the file size limit, and check the health of the disk. Refused calls can then be sent again.',
  ],
  // After a failed read of the disk, SQLite can report a sound file as malformed until the process restarts.
  corrupt: [
    11,
    'database disk image is malformed',
    'Check the disk, and start again. If the file is still damaged, restore it from a backup, or name a different file.',
  ],
  full: [
    13,
    'database or disk is full',
    'Free up space on the disk. Refused calls can then be sent again.',
  ],
  cannotOpen: [
    14,
    'unable to open database file',
    'Check that the file and its folder exist and are accessible.',
  ],
  notDatabase: [26, 'file is not a database', 'Name a different file.'],
} as const

type Kind = keyof typeof kinds

/**
 * Errors that may go away by themselves: once another program releases the file, or there is room or permission
 * to write again.
 */
const temporary: readonly Kind[] = ['busy', 'readOnly', 'inputOutput', 'full']

/** Tells whether an error means that another connection holds a lock. */
export function isBusy(error: unknown): boolean {
  return isOneOf(error, 'busy')
}

/** Tells whether an error means that SQLite had no room in the file or in a temporary file. */
export function isWithoutRoom(error: unknown): boolean {
  return isOneOf(error, 'inputOutput', 'full', 'cannotOpen')
}

/** Turns an error of SQLite into `store_unusable`; leaves an EvrouteError as it is. */
export function storeError(path: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  const kind = kindOf(error)
  return new StoreUnusableError({
    message: `Cannot use the store ${path}: ${messageOf(error)}`,
    hint: kind === undefined ? 'Check the file, its folder and its disk.' : kinds[kind][2],
    cause: error,
    isTemporary: kind !== undefined && temporary.includes(kind),
  })
}

function isOneOf(error: unknown, ...names: readonly Kind[]): boolean {
  const kind = kindOf(error)
  return kind !== undefined && names.includes(kind)
}

function kindOf(error: unknown): Kind | undefined {
  const extendedCode = (error as { errcode?: unknown } | null | undefined)?.errcode
  // The primary result code is in the low eight bits.
  const code = typeof extendedCode === 'number' ? extendedCode & 0xff : undefined
  const names = Object.keys(kinds) as Kind[]
  return names.find((name) => {
    const [ofKind, message] = kinds[name]
    return code === undefined ? message === messageOf(error) : ofKind === code
  })
}
