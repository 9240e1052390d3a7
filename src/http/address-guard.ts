import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { domainToASCII } from 'node:url'
import { AddressRefusedError, SettingError } from '../model/index.ts'
import { ruleOf, type AddressKind } from './address-ranges.ts'
import { isInBlock, parseAddress, parseBlock, type AddressBlock } from './ip-address.ts'
import { isLocalName, nameError } from './name-source.ts'
import { lookupBy, systemNames, type ResolveName } from './names.ts'

/** What an {@link AddressGuard} allows, and how it resolves names. */
export interface AddressGuardOptions {
  /**
   * `network.allow`: addresses, ranges such as `10.0.0.0/8`, and host names; empty by default. A range of IPv4
   * addresses doesn't allow their NAT64 forms. A host name allows every address that it resolves to, but not its
   * subdomains.
   */
  readonly allow?: readonly string[]
  /** `network.proxy`; none by default. The proxy resolves names, so only IP addresses and local names are checked. */
  readonly proxy?: string | null
  /** {@link systemNames} by default. */
  readonly resolveName?: ResolveName
}

interface AddressRefusal {
  /** Such as `private_address`, `loopback_address` or `metadata_address`. */
  readonly code: `${AddressKind}_address`
  /** Says which kind of address it is, and how to allow it. */
  readonly message: string
}

/** Refuses addresses that are not public, and names with any such address. `network.allow` lists exceptions. */
export class AddressGuard {
  /** The options, to make an equal guard in a different thread. */
  readonly options: AddressGuardOptions
  /** The URL of the forward proxy, if there is one. */
  readonly proxy: string | undefined
  readonly #allowedBlocks: readonly AddressBlock[]
  readonly #allowedNames: ReadonlySet<string>
  readonly #resolveName: ResolveName

  /** @throws SettingError for an entry of `network.allow` that cannot be read */
  constructor(options: AddressGuardOptions = {}) {
    const { allow = [], proxy, resolveName = systemNames.resolve } = options
    this.options = options
    this.proxy = proxy ?? undefined
    const entries = allow.map((text, index) => readEntry(text, `network.allow[${index}]`))
    this.#allowedBlocks = entries.filter((entry) => typeof entry !== 'string')
    this.#allowedNames = new Set(entries.filter((entry) => typeof entry === 'string'))
    this.#resolveName = resolveName
  }

  /** Returns why a URL's host is refused; undefined if it is allowed, or is a name that must be resolved first. */
  refusalOf(host: string): AddressRefusal | undefined {
    const bare = bareHost(host)
    if (parseAddress(bare) !== undefined) return this.#addressRefusal(bare, 'it')
    if (!isLocalName(bare) || this.#allowedNames.has(bare) || this.#allowsLoopback()) {
      return undefined
    }
    return { code: 'loopback_address', message: refusalText(bare, 'it is a name of this machine') }
  }

  /**
   * Resolves a host and checks all of its addresses. Connect to a returned address: a second look-up may differ.
   *
   * @throws AddressRefusedError, the resolver's error, or `ENOTFOUND` for a name without addresses
   */
  async resolve(host: string): Promise<readonly LookupAddress[]> {
    const refusal = this.refusalOf(host)
    if (refusal !== undefined) throw new AddressRefusedError(refusal)
    const name = bareHost(host)
    const family = isIP(name)
    if (family !== 0) return [{ address: name, family }]
    // Keep the final dot, which stops the resolver from appending the machine's search domains.
    const addresses = await this.#resolveName(host)
    if (addresses.length === 0) throw nameError(name, 'ENOTFOUND')
    if (this.#allowedNames.has(name)) return addresses
    for (const { address } of addresses) {
      const found = this.#addressRefusal(address, `its address ${address}`, name)
      if (found !== undefined) throw new AddressRefusedError(found)
    }
    return addresses
  }

  /** {@link resolve} as a connection's `lookup`. Node skips it for an IP address, so call {@link refusalOf} too. */
  readonly lookup: LookupFunction = lookupBy((host) => this.resolve(host))

  #addressRefusal(text: string, subject: string, host = text): AddressRefusal | undefined {
    const address = parseAddress(text)
    // An address that cannot be parsed must not bypass the rules.
    if (address === undefined)
      throw new TypeError(`Cannot send to ${host}: ${text} is not an address`)
    const rule = ruleOf(address)
    if (rule === undefined || this.#allowedBlocks.some((block) => isInBlock(address, block))) {
      return undefined
    }
    return {
      code: `${rule.kind}_address`,
      message: refusalText(host, `${subject} is ${rule.text}`),
    }
  }

  /** Whether any loopback address is allowed. If so, {@link resolve} resolves local names and checks their addresses. */
  #allowsLoopback(): boolean {
    return ['127.0.0.1', '::1'].some((text) => this.#addressRefusal(text, 'it') === undefined)
  }
}

function refusalText(host: string, reason: string): string {
  return `Cannot send to ${host}: ${reason}. To allow this host, add it to network.allow`
}

/** Returns a host in lower case, without the brackets of IPv6 and without final dots. */
function bareHost(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')
    .toLowerCase()
}

function readEntry(text: string, setting: string): AddressBlock | string {
  const entry = parseBlock(text) ?? readName(text)
  if (entry !== undefined) return entry
  throw new SettingError(
    setting,
    `Cannot allow "${text}": it is not an address, a range or a host name`,
    'Write an address such as 10.0.0.5, a range such as 10.0.0.0/8 or a name such as hooks.internal.',
  )
}

/** Returns a host name as URLs spell it; undefined for other text, such as `127.1`, which URLs take as an address. */
function readName(text: string): string | undefined {
  // In a URL, any other character would end the name or be dropped.
  if (!/^[\p{L}\p{M}\p{N}_.-]+$/u.test(text)) return undefined
  const name = bareHost(domainToASCII(text))
  return name === '' || parseAddress(name) !== undefined ? undefined : name
}
