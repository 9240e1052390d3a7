import { EvrouteError, messageOf } from '../../model/index.ts'

/** Codes of SQLite, of which the lower eight bits are the kind. */
const resultCodes = { busy: 5, readOnly: 8, corrupt: 11, full: 13, cannotOpen: 14, notDatabase: 26 }

const hints: ReadonlyMap<number, string> = new Map([
  [resultCodes.busy, 'Another program keeps the file locked: end it, and try again.'],
  [resultCodes.readOnly, 'Give this user the right to write the file and its folder.'],
  [resultCodes.corrupt, 'Put a backup in its place, or name another file.'],
  [resultCodes.full, 'Make room on its disk; what was refused can then be sent again.'],
  [resultCodes.cannotOpen, 'Check that the file and its folder are there and may be used.'],
  [resultCodes.notDatabase, 'Name another file; it is made when it does not exist.'],
])

/** Tells whether another connection keeps something locked. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === resultCodes.busy
}

/** What callers get to know of an error that SQLite reported: always `store_unusable`. */
export function storeError(path: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  return new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: ${messageOf(error)}`,
    hint: hints.get(resultCode(error)) ?? 'Check the file, its folder and its disk.',
    cause: error,
  })
}

/** What every method answers after `close()`. */
export function closedError(): EvrouteError {
  return new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
}

function resultCode(error: unknown): number {
  const code = (error as { errcode?: unknown } | null | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : 0
}
