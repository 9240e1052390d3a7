import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

/** Reads the addresses of each name in a hosts file, in the order of the file. The names are in lower case. */
export function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    // Skip addresses with a zone: they are link-local, and a URL cannot name their interface.
    if (family === 0 || address.includes('%')) continue
    for (const name of names.map((each) => each.toLowerCase())) {
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }])
    }
  }
  return hosts
}

interface SearchList {
  readonly domains: readonly string[]
  /** A name with fewer dots is tried with the domains first. */
  readonly dotsMin: number
}

/** Reads the search list of a `resolv.conf`; the last `search` or `domain` line counts. */
export function parseSearchList(text: string): SearchList {
  let domains: readonly string[] = []
  let dotsMin = 1
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (keyword === 'search' || keyword === 'domain') {
      domains = words.map((word) => word.replace(/\.+$/, '')).filter((word) => word !== '')
    }
    if (keyword !== 'options') continue
    const found = words.map((word) => /^ndots:(\d+)$/.exec(word)?.[1]).findLast(Boolean)
    // 15 is the limit of glibc.
    if (found !== undefined) dotsMin = Math.min(Number(found), 15)
  }
  return { domains, dotsMin }
}

/** Returns the full names that a name can stand for, in the order to try them. */
export function fullNames(name: string, { domains, dotsMin }: SearchList): readonly string[] {
  if (name.endsWith('.')) return [name]
  const completed = domains.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots < dotsMin ? [...completed, name] : [name, ...completed]
}
