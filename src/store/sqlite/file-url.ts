import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { UrlRefusal } from '../store-errors.ts'

const prefix = 'sqlite:'

/** The file of a URL that is not refused. */
export function fileOf(url: string): string {
  return url.slice(prefix.length)
}

/** Why a URL names no file; undefined if it does. */
export function refusalOf(url: string, whyNotOurs: string): UrlRefusal | undefined {
  if (!url.startsWith(prefix)) return { why: whyNotOurs, hint: hintFor(url) }
  const path = fileOf(url)
  if (path === '') return { why: 'it names no file', hint: hintFor('') }
  if (path === ':memory:') {
    return {
      why: 'it names no file',
      hint: 'memory: is the engine that forgets; write a file as sqlite:./evroute.db.',
    }
  }
  if (!isFolder(path)) return undefined
  return {
    why: 'it names a folder',
    hint: `Name a file in it: sqlite:${join(path, 'evroute.db')}.`,
  }
}

/**
 * The hint for a URL that is probably meant as a path. Text that could contain a password is not
 * shown.
 */
function hintFor(url: string): string {
  if (/^(postgres\w*|pg\w*|psql):/i.test(url)) {
    return 'Write it as postgres://user:password@host:5432/database.'
  }
  const isPath = url !== '' && !/^[a-z][a-z\d+.-]+:|[@?=]/i.test(url)
  return `Write it as sqlite:${isPath ? url : './evroute.db'}.`
}

function isFolder(path: string): boolean {
  if (path.endsWith('/')) return true
  try {
    return statSync(path).isDirectory()
  } catch {
    // The file is missing or unreadable. Opening it reports that.
    return false
  }
}
