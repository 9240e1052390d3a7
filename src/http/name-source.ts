import { ADDRCONFIG, type LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { closeSync, openSync } from 'node:fs'
import { devNull, networkInterfaces } from 'node:os'
import { systemCode } from '../model/index.ts'
import { systemClock, type Clock, type Timer } from '../runtime/index.ts'
import { FollowedFile } from './followed-file.ts'
import { parseHosts } from './name-files.ts'
import { Turns } from './turns.ts'

const hostsFile =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
/** Half of the threads in Node's pool, so that the others remain free for files. */
const systemLookupsMax = 2
/** Roughly how long to wait before asking a server again. Doubles each time. */
const firstTimeoutMs = 1_000
const tries = 4
/** How much longer to wait for the second address family once the first one has answered. */
const secondFamilyMs = 1_000

/** The addresses of a name: at least one, valid for `ttlMs`. */
export interface NameAnswer {
  readonly addresses: readonly LookupAddress[]
  readonly ttlMs: number
}

/** Where to look names up; by default where the system does. */
export interface NameSourceOptions {
  /** DNS servers such as `127.0.0.1:5353`; the system's by default. */
  readonly servers?: readonly string[]
  readonly hostsPath?: string
  /** The system's resolver, which blocks a thread of Node's pool. */
  readonly systemLookup?: (name: string) => Promise<readonly LookupAddress[]>
  readonly clock?: Clock
}

/**
 * Finds the addresses of names: in the hosts file, then in DNS, then with the system's resolver. The system's resolver
 * comes last, because it blocks one of Node's four threads until a DNS server answers, and reading files needs the same
 * threads.
 */
export class NameSource {
  readonly #options: NameSourceOptions
  readonly #clock: Clock
  readonly #hosts: FollowedFile<ReturnType<typeof parseHosts>>
  readonly #systemTurns: Turns

  constructor(options: NameSourceOptions = {}) {
    const { clock = systemClock } = options
    this.#options = options
    this.#clock = clock
    this.#hosts = new FollowedFile(options.hostsPath ?? hostsFile, parseHosts)
    this.#systemTurns = new Turns({ turnsMax: systemLookupsMax, clock })
  }

  /** Looks a name up. Throws `ENOTFOUND`, `EAI_AGAIN` if no server answers, or a code such as `EMFILE`. */
  async find(name: string, signal: AbortSignal): Promise<NameAnswer> {
    try {
      return await this.#find(name, signal)
    } catch (error) {
      // Without a free file descriptor, resolvers say that a name doesn't exist. Opening a file throws the real error.
      closeSync(openSync(devNull, 'r'))
      throw error
    }
  }

  async #find(name: string, signal: AbortSignal): Promise<NameAnswer> {
    const families = ownFamilies()
    const bareName = name.replace(/\.+$/, '')
    const local = this.#hosts.contentOrLast?.get(bareName) ?? loopbackOf(bareName)
    if (local !== undefined) return { addresses: usable(local, families), ttlMs: 0 }
    const answer = await this.#askServers(name, families, signal)
    if (answer !== undefined) return answer
    if (name.endsWith('.')) throw nameError(name, 'ENOTFOUND')
    return { addresses: await this.#askSystem(name, signal), ttlMs: 0 }
  }

  /** Asks DNS. Undefined if the name has no address there. */
  async #askServers(
    name: string,
    families: readonly number[],
    signal: AbortSignal,
  ): Promise<NameAnswer | undefined> {
    signal.throwIfAborted()
    // A new resolver for each name reads the current servers, and can be cancelled on its own.
    const resolver = new Resolver({ timeout: firstTimeoutMs, tries })
    if (this.#options.servers !== undefined) resolver.setServers(this.#options.servers)
    const cancel = (): void => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    let grace: Timer | undefined
    const found = families.map(async (family) => {
      const records =
        family === 4
          ? await resolver.resolve4(name, { ttl: true })
          : await resolver.resolve6(name, { ttl: true })
      grace ??= this.#clock.schedule(secondFamilyMs, cancel)
      return records.map(({ address, ttl }) => ({ address, family, ttl }))
    })
    const results = await Promise.allSettled(found)
    grace?.cancel()
    signal.removeEventListener('abort', cancel)
    return answerOf(name, results)
  }

  async #askSystem(name: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    signal.throwIfAborted()
    const { systemLookup = lookUpBySystem } = this.#options
    const controller = new AbortController()
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        controller.abort()
        reject(nameError(name, 'EAI_AGAIN'))
      })
    })
    const lookUp = async (): Promise<readonly LookupAddress[]> => {
      try {
        await this.#systemTurns.take(controller)
        return await systemLookup(name)
      } finally {
        // The look-up blocks a thread even after its caller has given up, so its turn ends only here.
        this.#systemTurns.end(controller)
      }
    }
    return Promise.race([lookUp(), aborted])
  }
}

/** Makes an error like those of the system's resolver. */
export function nameError(name: string, code: 'ENOTFOUND' | 'EAI_AGAIN'): Error {
  const reason = code === 'ENOTFOUND' ? 'it has no address' : 'no DNS server answered in time'
  return Object.assign(new Error(`Cannot resolve ${name}: ${reason}`), { code, hostname: name })
}

/** Whether a name always stands for this machine (RFC 6761, section 6.3). */
export function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

type Found = LookupAddress & { readonly ttl: number }

function answerOf(
  name: string,
  results: readonly PromiseSettledResult<readonly Found[]>[],
): NameAnswer | undefined {
  const found = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (found.length > 0) {
    const addresses = found.map(({ address, family }) => ({ address, family }))
    return { addresses, ttlMs: 1_000 * Math.min(...found.map(({ ttl }) => ttl)) }
  }
  const codes = results.map((result) =>
    result.status === 'rejected' ? systemCode(result.reason) : undefined,
  )
  // All other codes mean that the servers don't know the name.
  if (codes.some((code) => code === 'ETIMEOUT' || code === 'ECANCELLED')) {
    throw nameError(name, 'EAI_AGAIN')
  }
  return undefined
}

/** Returns the address families that the machine uses outside its loopback, by the same rule as `getaddrinfo`. */
function ownFamilies(): readonly number[] {
  const outer = Object.values(interfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
  const own = [4, 6].filter((family) => outer.some((each) => each.family === `IPv${family}`))
  return own.length > 0 ? own : [4, 6]
}

/** Returns the network interfaces, or an empty object if a sandbox hides them. A systemd unit without AF_NETLINK does. */
function interfaces(): ReturnType<typeof networkInterfaces> {
  try {
    return networkInterfaces()
  } catch {
    return {}
  }
}

function usable(
  addresses: readonly LookupAddress[],
  families: readonly number[],
): readonly LookupAddress[] {
  const reached = addresses.filter(({ family }) => families.includes(family))
  return reached.length > 0 ? reached : addresses
}

function loopbackOf(name: string): readonly LookupAddress[] | undefined {
  if (!isLocalName(name)) return undefined
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
}

function lookUpBySystem(name: string): Promise<readonly LookupAddress[]> {
  return lookup(name, { all: true, hints: ADDRCONFIG })
}
