import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { EvrouteError } from '../../model/index.ts'

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

/** @throws EvrouteError `store_unusable` when there is no such file */
export function expectFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: there is no such file`,
    hint: 'Name a store that something was delivered from.',
  })
}
