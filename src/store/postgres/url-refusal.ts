import { nearestName, parseUrl } from '../../model/index.ts'
import type { UrlRefusal } from '../url-refusal.ts'

/** The values of `sslmode` in `pg`. */
const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']
/** The values of `ssl` in `pg`. */
const sslValues = ['1', '0', 'true', 'no-verify']

const formHint = 'Write it as postgres://user:password@host:5432/database.'

/** Messages show no part of the URL: in a malformed one any part can be the password. */
const misread: UrlRefusal = {
  why: 'it has a character that has to be percent-encoded, or cannot be in a URL',
  hint: 'In user, password and database write / as %2F, @ as %40, # as %23, ? as %3F, % as %25, a space as %20.',
}

/** Why a URL of PostgreSQL cannot be used; undefined if it can. Nothing is connected. */
export function postgresRefusal(url: string): UrlRefusal | undefined {
  const [, authority = '', path = '', , query = ''] =
    /^[a-z]+:\/\/([^/?]*)([^?]*)(\?([^]*))?$/i.exec(url) ?? []
  if (isMisread(url, authority + path) || /@/.test(path + query)) return misread
  return (
    hostRefusal(authority.slice(authority.lastIndexOf('@') + 1)) ??
    databaseRefusal(path.slice(1)) ??
    parametersRefusal(new URLSearchParams(query))
  )
}

function isMisread(url: string, base: string): boolean {
  if (/\p{Cc}|#|%(?![\da-f]{2})/iu.test(url) || base.includes(' ')) return true
  try {
    decodeURIComponent(url)
    return false
  } catch {
    return true
  }
}

/** Without a host, the variables of PostgreSQL or its defaults name it. */
function hostRefusal(host: string): UrlRefusal | undefined {
  if (host.includes(',')) return severalHosts
  const port = /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1]
  const isUrl = host === '' || parseUrl(`postgres://${host}/`) !== undefined
  if (isUrl && (port === undefined || isPort(port))) return undefined
  return { why: 'its host or its port is none', hint: formHint }
}

const severalHosts: UrlRefusal = {
  why: 'it names several hosts',
  hint: 'Name one: the primary, or what stands in front of all of them.',
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
}

function databaseRefusal(database: string): UrlRefusal | undefined {
  if (!database.includes('/')) return undefined
  return { why: 'more than the name of a database follows its host', hint: formHint }
}

function parametersRefusal(parameters: URLSearchParams): UrlRefusal | undefined {
  const port = parameters.get('port')
  if (port !== null && !isPort(port)) return { why: 'its port is none', hint: formHint }
  if (parameters.get('host')?.includes(',') === true) return severalHosts
  return (
    choiceRefusal('sslmode', sslModes, parameters) ?? choiceRefusal('ssl', sslValues, parameters)
  )
}

function choiceRefusal(
  name: string,
  choices: readonly string[],
  parameters: URLSearchParams,
): UrlRefusal | undefined {
  const value = parameters.get(name)
  if (value === null || choices.includes(value)) return undefined
  const meant = nearestName(value, choices)
  return {
    why: `its ${name} is none of ${choices.join(', ')}`,
    hint:
      meant === undefined ? `Leave ${name} out, or name one of them.` : `Did you mean ${meant}?`,
  }
}
