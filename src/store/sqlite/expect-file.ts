import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { EvrouteError } from '../../model/index.ts'
import { MissingStoreError } from '../missing-store.ts'

/** @throws EvrouteError `store_unusable` when a file cannot be made because its folder is missing */
export function expectFolder(path: string): void {
  const folder = dirname(path)
  if (existsSync(folder)) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: there is no folder ${folder}`,
    hint: 'Make the folder, or name another file.',
  })
}

/**
 * SQLite finds a log by the name of its file. Changes under one name would be missed under another,
 * and would finally damage the file.
 *
 * @throws EvrouteError `store_unusable` if a file has more than one name
 */
export function expectOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.nlink <= 1) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: the file has ${stats.nlink} names (hard links), under which several processes could write it at once`,
    hint: 'Remove its other names, or copy it and name the copy.',
  })
}

/** @throws MissingStoreError when there is no such file */
export function expectFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return
  throw new MissingStoreError({
    message: `Cannot use the store ${path}: there is no such file`,
    hint: 'Name a store that something was delivered from.',
  })
}

/** Tells whether this user may read a file. */
export function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
