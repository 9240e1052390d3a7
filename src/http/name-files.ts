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
