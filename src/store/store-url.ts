import { SettingError } from '../model/index.ts'
import { isPostgresUrl } from './postgres/connection-url.ts'
import type { UrlRefusal } from './store-errors.ts'

const prefix = 'sqlite:'

/**
 * Throws if a URL is refused. The message repeats the URL unless it could contain a password.
 *
 * @param cannot - the beginning of the message, as in `Cannot open the store`
 * @throws SettingError
 */
export function expectUsable(
  url: string,
  refusal: UrlRefusal | undefined,
  { setting = '--store', cannot }: { readonly setting?: string; readonly cannot: string },
): void {
  if (refusal === undefined) return
  const isHidden = isPostgresUrl(url) || /[@?=]|:\/\//.test(url)
  const quoted = isHidden ? '' : ` "${url}"`
  throw new SettingError(setting, `${cannot}${quoted}: ${refusal.why}`, refusal.hint)
}

/** Returns the file in a `sqlite:` URL. */
export function fileOf(url: string): string {
  return url.slice(prefix.length)
}

/**
 * Returns why a URL names no file; undefined if it names one.
 *
 * @param whyNotOurs - the reason if the URL does not begin with `sqlite:`
 */
export function refusalOf(url: string, whyNotOurs: string): UrlRefusal | undefined {
  if (!url.startsWith(prefix)) return { why: whyNotOurs, hint: hintFor(url) }
  const path = fileOf(url)
  if (path === '') return { why: 'it must name a file', hint: hintFor('') }
  if (path === ':memory:') {
    return {
      why: 'it must name a file',
      hint: 'Write "memory:" for a store in memory, or "sqlite:./evroute.db" for a file.',
    }
  }
  return undefined
}

/**
 * Returns a hint with the right form of a URL. Repeats only text that looks like a path, because any other
 * could contain a password.
 */
function hintFor(url: string): string {
  if (/^(postgres\w*|pg\w*|psql):/i.test(url)) {
    return 'Write it as postgres://user:password@host:5432/database.'
  }
  const isPath = url !== '' && !/^[a-z][a-z\d+.-]+:|[@?=]/i.test(url)
  return `Write it as sqlite:${isPath ? url : './evroute.db'}.`
}
