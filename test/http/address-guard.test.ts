import type { LookupAddress } from 'node:dns'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AddressGuard, type AddressGuardOptions, type ResolveName } from '../../src/http/index.ts'
import { AddressRefusedError, SettingError } from '../../src/model/index.ts'

const host = (url: string): string => new URL(url).hostname

function refusedUrl(url: string, options?: AddressGuardOptions): string | undefined {
  return new AddressGuard(options).refusalOf(host(url))?.message
}

/** Resolves every name to these addresses. */
const to =
  (...addresses: readonly string[]): ResolveName =>
  () =>
    Promise.resolve(
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

function resolved(
  name: string,
  options: AddressGuardOptions,
): Promise<readonly LookupAddress[] | string> {
  return new AddressGuard(options).resolve(name).catch((error: unknown) => {
    if (error instanceof AddressRefusedError) return error.message
    throw error
  })
}

const meant = 'To allow this host, add it to network.allow'
const loopbackText = `it is a loopback address (127.0.0.0/8). ${meant}`

describe('the guard refuses, without a lookup,', () => {
  test.each([
    ['http://10.0.0.5/', '10.0.0.5', 'a private address (10.0.0.0/8)'],
    ['http://127.0.0.1:4100/hook', '127.0.0.1', 'a loopback address (127.0.0.0/8)'],
    ['http://0.0.0.0/', '0.0.0.0', 'an unspecified address (0.0.0.0/8)'],
    [
      'http://169.254.169.254/latest/',
      '169.254.169.254',
      'a cloud metadata address (169.254.169.254/32)',
    ],
    ['http://169.254.1.1/', '169.254.1.1', 'a link-local address (169.254.0.0/16)'],
    ['http://100.64.0.1/', '100.64.0.1', 'a carrier-grade NAT address (100.64.0.0/10)'],
    ['http://198.18.0.1/', '198.18.0.1', 'a benchmarking address (198.18.0.0/15)'],
    ['http://192.0.2.1/', '192.0.2.1', 'a documentation address (192.0.2.0/24)'],
    ['http://224.0.0.1/', '224.0.0.1', 'a multicast address (224.0.0.0/4)'],
    ['http://240.0.0.1/', '240.0.0.1', 'a reserved address (240.0.0.0/4)'],
    ['http://255.255.255.255/', '255.255.255.255', 'the broadcast address (255.255.255.255/32)'],
    ['http://[::1]:4100/', '::1', 'a loopback address (::1/128)'],
    ['http://[fd00:ec2::254]/', 'fd00:ec2::254', 'a cloud metadata address (fd00:ec2::254/128)'],
    ['http://[fd12::1]/', 'fd12::1', 'a unique local address (fc00::/7)'],
    ['http://[fec0::1]/', 'fec0::1', 'a site-local address (fec0::/10)'],
    ['http://[100::1]/', '100::1', 'a discard-only address (100::/64)'],
    ['http://[2002:a00:5::]/', '2002:a00:5::', 'an IPv6 transition address (2002::/16)'],
    ['http://[::ffff:10.0.0.5]/', '::ffff:a00:5', 'a private address (10.0.0.0/8)'],
    [
      'http://[64:ff9b::10.0.0.5]/',
      '64:ff9b::a00:5',
      'an IPv6 form of 10.0.0.5, a private address (10.0.0.0/8)',
    ],
    ['http://localhost:4100/', 'localhost', 'a name of this machine'],
    ['http://LOCALHOST./', 'localhost', 'a name of this machine'],
    ['http://api.localhost/', 'api.localhost', 'a name of this machine'],
    ['http://ｌｏｃａｌｈｏｓｔ/', 'localhost', 'a name of this machine'],
  ])('%s', (url, shown, rule) => {
    expect(refusedUrl(url)).toBe(`Cannot send to ${shown}: it is ${rule}. ${meant}`)
  })

  test.each([
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0X7F.0.0.1/',
    'http://017700000001/',
    'http://0177.0.0.01/',
    'http://127.1/',
    'http://127.0.1/',
    'http://0x7f.1/',
    'http://127.0.0.1./',
    'http://127。0。0。1/',
    'http://①②⑦.0.0.1/',
    'http://%31%32%37.0.0.1/',
  ])('%s, which is 127.0.0.1', (url) => {
    expect(refusedUrl(url)).toBe(`Cannot send to 127.0.0.1: ${loopbackText}`)
  })

  test.each([
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[0:0:0:0:0:FFFF:7F00:0001]/',
  ])('%s, which is mapped to 127.0.0.1', (url) => {
    expect(refusedUrl(url)).toBe(`Cannot send to ::ffff:7f00:1: ${loopbackText}`)
  })

  test.each(['localhost.example.com', 'notlocalhost', 'example.com', '93.184.216.34', '2a00::1'])(
    'but not %s',
    (name) => {
      expect(new AddressGuard().refusalOf(name)).toBeUndefined()
    },
  )

  test('also spellings that no URL parser has normalised', () => {
    const spellings = ['LocalHost', 'API.LOCALHOST.', 'FD12::1', '[::FFFF:10.0.0.5]']
    const guard = new AddressGuard()
    expect(spellings.filter((text) => guard.refusalOf(text) === undefined)).toEqual([])
  })

  test('with a code for the kind of address', () => {
    const guard = new AddressGuard()
    const codes = ['10.0.0.5', '[::1]', '169.254.169.254', 'localhost'].map(
      (name) => guard.refusalOf(name)?.code,
    )
    expect(codes).toEqual([
      'private_address',
      'loopback_address',
      'metadata_address',
      'loopback_address',
    ])
  })
})

describe('a name', () => {
  test('is resolved to its addresses if all of them are public', async () => {
    const resolveName = to('93.184.216.34', '2606:2800:220:1::1')
    expect(await resolved('example.com', { resolveName })).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:2800:220:1::1', family: 6 },
    ])
  })

  test.each([
    ['10.0.0.5', 'a private address (10.0.0.0/8)'],
    ['::1', 'a loopback address (::1/128)'],
    ['::ffff:169.254.169.254', 'a cloud metadata address (169.254.169.254/32)'],
    ['fe80::1%eth0', 'a link-local address (fe80::/10)'],
  ])('is refused if one of its addresses is %s', async (address, rule) => {
    const resolveName = to('93.184.216.34', address)
    expect(await resolved('hooks.example.com', { resolveName })).toBe(
      `Cannot send to hooks.example.com: its address ${address} is ${rule}. ${meant}`,
    )
  })

  test.each(['localhost', 'api.localhost.'])('%s is refused without a lookup', async (name) => {
    const resolveName: ResolveName = () => Promise.reject(new Error('It was asked'))
    expect(await resolved(name, { resolveName })).toContain('it is a name of this machine')
  })

  test('is looked up as written, including a final dot', async () => {
    const queried: string[] = []
    const resolveName: ResolveName = (name) => {
      queried.push(name)
      return to('10.0.0.5')(name)
    }
    await resolved('hooks.example.com.', { resolveName, allow: ['hooks.example.com'] })
    expect(queried).toEqual(['hooks.example.com.'])
  })

  test('that does not resolve is not refused by the guard', async () => {
    const error = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const guard = new AddressGuard({ resolveName: () => Promise.reject(error) })
    await expect(guard.resolve('hooks.example.com')).rejects.toBe(error)
  })

  test('is refused if one of its addresses is unreadable', async () => {
    const guard = new AddressGuard({ resolveName: to('127.1') })
    await expect(guard.resolve('hooks.example.com')).rejects.toThrow('127.1 is not an address')
  })

  test('that is an address is not looked up', async () => {
    const resolveName: ResolveName = () => Promise.reject(new Error('It was asked'))
    expect(await resolved('[2606:4700::1111]', { resolveName })).toEqual([
      { address: '2606:4700::1111', family: 6 },
    ])
    expect(await resolved('10.0.0.5', { resolveName })).toContain('10.0.0.0/8')
  })

  test('is looked up by the system by default', async () => {
    const guard = new AddressGuard({ allow: ['localhost'] })
    const addresses = await guard.resolve('localhost')
    expect(addresses.length).toBeGreaterThan(0)
    for (const { address } of addresses) expect(['127.0.0.1', '::1']).toContain(address)
  })
})

describe('the lookup of a connection', () => {
  function lookUp(guard: AddressGuard, all: boolean): Promise<readonly unknown[]> {
    return new Promise((resolve) => {
      guard.lookup('hooks.example.com', { all }, (...result) => resolve(result))
    })
  }

  test('returns all addresses or the first one, as requested', async () => {
    const guard = new AddressGuard({ resolveName: to('93.184.216.34', '2a00::1') })
    expect(await lookUp(guard, true)).toEqual([
      null,
      [
        { address: '93.184.216.34', family: 4 },
        { address: '2a00::1', family: 6 },
      ],
    ])
    expect(await lookUp(guard, false)).toEqual([null, '93.184.216.34', 4])
  })

  test('answers with the refusal', async () => {
    const guard = new AddressGuard({ resolveName: to('10.0.0.5') })
    const [error] = await lookUp(guard, true)
    expect(error).toBeInstanceOf(AddressRefusedError)
    expect(error).toMatchObject({ code: 'private_address' })
  })

  test.each([true, false])('reports that a name has no address (all: %s)', async (all) => {
    const guard = new AddressGuard({ resolveName: to() })
    const [error] = await lookUp(guard, all)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ code: 'ENOTFOUND', hostname: 'hooks.example.com' })
  })

  test.each([['93.184.216.34'], ['10.0.0.5']])(
    'does not swallow an exception of the callback when it answers with %s',
    async (address) => {
      const mistake = new Error('thrown by the callback')
      const uncaught = new Promise((resolve) => {
        process.setUncaughtExceptionCaptureCallback(resolve)
      })
      onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null))
      new AddressGuard({ resolveName: to(address) }).lookup('hooks.example.com', {}, () => {
        throw mistake
      })
      expect(await uncaught).toBe(mistake)
    },
  )
})

describe('network.allow', () => {
  const inTen = ['10.0.0.0', '10.0.0.5', '10.255.255.255', '::ffff:10.0.0.5']

  test.each([
    { allow: '10.0.0.0/8', lifted: inTen },
    { allow: '10.0.0.5', lifted: ['10.0.0.5', '::ffff:10.0.0.5'] },
    { allow: '::1', lifted: ['::1'] },
    { allow: 'fd00::/8', lifted: ['fd00::', 'fd00:ec2::254'] },
    { allow: '64:ff9b::a00:0/104', lifted: ['64:ff9b::a00:5'] },
    { allow: '::ffff:10.0.0.0/104', lifted: inTen },
    { allow: '0.0.0.0/0', lifted: [...inTen, '127.0.0.1'] },
    { allow: 'hooks.internal', lifted: [] },
  ])('$allow lifts only that refusal', ({ allow, lifted }) => {
    const guard = new AddressGuard({ allow: [allow] })
    const ipv4 = [...inTen, '127.0.0.1']
    const ipv6 = ['::1', 'fd00::', 'fd00:ec2::254', 'fc00::1', '64:ff9b::a00:5', '2002:a00:5::']
    const passed = [...ipv4, ...ipv6].filter((text) => guard.refusalOf(text) === undefined)
    expect(passed).toEqual(lifted)
  })

  test('lifts all refusals of a listed name, and of no other', async () => {
    const options = { allow: ['Hooks.Internal.', 'bücher.internal'], resolveName: to('10.0.0.5') }
    const address = [{ address: '10.0.0.5', family: 4 }]
    expect(await resolved('hooks.internal', options)).toEqual(address)
    expect(await resolved(host('http://HOOKS.internal./'), options)).toEqual(address)
    expect(await resolved(host('http://Bücher.internal/'), options)).toEqual(address)
    for (const name of ['a.hooks.internal', 'internal', 'ahooks.internal', 'hooks.internal.com']) {
      expect(await resolved(name, options)).toContain(`Cannot send to ${name}: its address`)
    }
  })

  test('allows a name only if all of its addresses are listed', async () => {
    const resolveName = to('10.0.0.5', '10.0.0.6')
    expect(await resolved('a.internal', { resolveName, allow: ['10.0.0.5'] })).toContain('10.0.0.6')
    expect(
      await resolved('a.internal', { resolveName, allow: ['10.0.0.5', '10.0.0.6'] }),
    ).toHaveLength(2)
  })

  test('allows local names by name, or by all of their addresses', async () => {
    const both = to('::1', '127.0.0.1')
    const byName = { allow: ['localhost'], resolveName: both }
    expect(await resolved('localhost', byName)).toHaveLength(2)
    expect(await resolved('api.localhost', byName)).toContain('a name of this machine')
    const byAddress = { allow: ['127.0.0.0/8'] }
    const ipv4 = { ...byAddress, resolveName: to('127.0.0.1') }
    expect(await resolved('localhost', ipv4)).toHaveLength(1)
    expect(await resolved('localhost', { ...byAddress, resolveName: both })).toBe(
      `Cannot send to localhost: its address ::1 is a loopback address (::1/128). ${meant}`,
    )
  })

  test.each([
    '',
    '.',
    '10.0.0.0/33',
    '10.0.0.5/8',
    '10.1',
    '0x7f000001',
    '*.example.com',
    'localhost:4100',
    'http://localhost',
    'hooks.internal/24',
    'hooks internal',
    'user@hooks.internal',
    '[::1]',
    'hooks.0x1',
  ])('refuses the entry "%s"', (entry) => {
    const make = (): AddressGuard => new AddressGuard({ allow: ['::1', entry] })
    expect(make).toThrow(SettingError)
    expect(make).toThrow(
      expect.objectContaining({
        setting: 'network.allow[1]',
        message: `Cannot allow "${entry}": it is not an address, a range or a host name`,
      }),
    )
  })
})
