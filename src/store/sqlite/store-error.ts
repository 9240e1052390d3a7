import { EvrouteError, messageOf, StoreUnusableError } from '../../model/index.ts'
import { DamagedRowError } from '../damaged-row.ts'

/** Codes of SQLite. The lower eight bits are the kind. */
const resultCodes = {
  busy: 5,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notDatabase: 26,
}

/**
 * Kinds that may end without help: another program releases the file, or there is room or permission
 * to write again.
 */
const temporaryCodes: readonly number[] = [
  resultCodes.busy,
  resultCodes.readOnly,
  resultCodes.inputOutput,
  resultCodes.full,
]

const corruptHint = 'Put a backup in its place, or name another file.'

const hints: ReadonlyMap<number, string> = new Map([
  [resultCodes.busy, 'Another program keeps the file locked: end it, and try again.'],
  [resultCodes.readOnly, 'Give this user the right to write the file and its folder.'],
  [
    resultCodes.inputOutput,
    'Make room on its disk or raise the limit on the size of files, and check that the disk is sound; what was refused can then be sent again.',
  ],
  [resultCodes.corrupt, corruptHint],
  [resultCodes.full, 'Make room on its disk; what was refused can then be sent again.'],
  [resultCodes.cannotOpen, 'Check that the file and its folder are there and may be used.'],
  [resultCodes.notDatabase, 'Name another file; it is made when it does not exist.'],
])

/** The messages of kinds, because one binding leaves the code out when it reads all rows. */
const messages: ReadonlyMap<string, number> = new Map([
  ['database is locked', resultCodes.busy],
  ['attempt to write a readonly database', resultCodes.readOnly],
  ['disk I/O error', resultCodes.inputOutput],
  ['database disk image is malformed', resultCodes.corrupt],
  ['database or disk is full', resultCodes.full],
  ['unable to open database file', resultCodes.cannotOpen],
  ['file is not a database', resultCodes.notDatabase],
])

/** Tells whether another connection holds a lock. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === resultCodes.busy
}

/** Tells whether SQLite had no room in the file or in a temporary file. */
export function isWithoutRoom(error: unknown): boolean {
  const { inputOutput, full, cannotOpen } = resultCodes
  return [inputOutput, full, cannotOpen].includes(resultCode(error))
}

/** Tells whether SQLite could not read a store because it has no permission to write beside it. */
export function isWriteRefused(error: unknown): boolean {
  const code = resultCode(error)
  return code === resultCodes.readOnly || code === resultCodes.cannotOpen
}

/** The error for callers of one that SQLite reported: always `store_unusable`. */
export function storeError(path: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  return new StoreUnusableError({
    message: `Cannot use the store ${path}: ${messageOf(error)}`,
    hint: hintOf(error),
    cause: error,
    isTemporary: temporaryCodes.includes(resultCode(error)),
  })
}

/** The error of every method after `close()`. */
export function closedError(): EvrouteError {
  return new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
}

function hintOf(error: unknown): string {
  if (error instanceof DamagedRowError) return corruptHint
  return hints.get(resultCode(error)) ?? 'Check the file, its folder and its disk.'
}

function resultCode(error: unknown): number {
  const code = (error as { errcode?: unknown } | null | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : (messages.get(messageOf(error)) ?? 0)
}
