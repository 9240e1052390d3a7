import type { LookupAddress } from 'node:dns'
import { writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NameSource, type NameSourceOptions } from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { DnsServer, type NameRecord } from '../support/dns-server.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const notFound = Object.assign(new Error('not found'), { code: 'ENOTFOUND' })

interface SourceSettings extends NameSourceOptions {
  readonly names?: Readonly<Record<string, NameRecord>>
  readonly hosts?: string
}

/** A source with its own DNS server and files, and a system resolver that knows no name. */
async function sourceWith({ names, hosts = '', ...options }: SourceSettings) {
  const folder = await temporaryFolder()
  const server = await DnsServer.start(names)
  onTestFinished(() => server.close())
  const hostsPath = join(folder, 'hosts')
  await writeFile(hostsPath, hosts)
  const source = new NameSource({
    servers: [server.address],
    hostsPath,
    systemLookup: () => Promise.reject(notFound),
    ...options,
  })
  const find = async (name: string, signal = new AbortController().signal) =>
    (await source.find(name, signal)).addresses.map(({ address }) => address)
  return { find, server, source, hostsPath }
}

const addressesOf = (...addresses: readonly string[]): readonly LookupAddress[] =>
  addresses.map((address) => ({ address, family: 4 }))

describe('a name in DNS', () => {
  test('resolves to its addresses, IPv4 first', async () => {
    const names = { 'hooks.example': ['2a00::1', '192.0.2.7', '192.0.2.8'] }
    const { source, server } = await sourceWith({ names })
    server.ttl = 17
    const { addresses, ttlMs } = await source.find('hooks.example', new AbortController().signal)
    expect(addresses.slice(0, 2)).toEqual(addressesOf('192.0.2.7', '192.0.2.8'))
    const isAsked6 = server.questions.some(({ family }) => family === 6)
    expect(addresses.slice(2)).toEqual(isAsked6 ? [{ address: '2a00::1', family: 6 }] : [])
    expect(ttlMs).toBe(17_000)
  })

  test('resolves in a sandbox that hides the network interfaces', async () => {
    const { networkInterfaces } = os
    onTestFinished(() => {
      os.networkInterfaces = networkInterfaces
      syncBuiltinESMExports()
    })
    // systemd's RestrictAddressFamilies refuses the netlink socket that lists them.
    os.networkInterfaces = () => {
      throw new Error('uv_interface_addresses returned Unknown system error 97')
    }
    syncBuiltinESMExports()
    const { find } = await sourceWith({ names: { 'hooks.example': ['192.0.2.7'] } })
    expect(await find('hooks.example')).toEqual(['192.0.2.7'])
  })

  test('that does not exist is reported as not found', async () => {
    const { find } = await sourceWith({})
    await expect(find('missing.example')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  test('fails without asking the system if it is aborted before its servers answer', async () => {
    let lookups = 0
    const systemLookup = () => {
      lookups++
      return Promise.resolve(addressesOf('192.0.2.9'))
    }
    const { find, server } = await sourceWith({ names: { 'dead.example': 'silent' }, systemLookup })
    const controller = new AbortController()
    const found = find('dead.example', controller.signal)
    await server.received('dead.example')
    controller.abort()
    await expect(found).rejects.toMatchObject({ code: 'EAI_AGAIN' })
    expect(lookups).toBe(0)
  })
})

describe('the hosts file', () => {
  test('takes precedence over DNS, and is reread when it changes', async () => {
    const names = { 'hooks.example': ['192.0.2.7'] }
    const { find, server, hostsPath } = await sourceWith({
      names,
      hosts: '10.0.0.5 hooks.example\n',
    })
    expect(await find('hooks.example')).toEqual(['10.0.0.5'])
    expect(await find('hooks.example.')).toEqual(['10.0.0.5'])
    expect(server.queriedNames).toEqual([])
    await writeFile(hostsPath, '10.0.0.55 hooks.example\n')
    expect(await find('hooks.example')).toEqual(['10.0.0.55'])
    await writeFile(hostsPath, '')
    expect(await find('hooks.example')).toEqual(['192.0.2.7'])
  })

  test('is not needed for localhost, which is never looked up', async () => {
    const { find, server } = await sourceWith({})
    for (const name of ['localhost', 'crm.localhost', 'localhost.']) {
      expect((await find(name))[0]).toBe('127.0.0.1')
    }
    expect(server.queriedNames).toEqual([])
  })

  test('may be missing', async () => {
    const names = { 'hooks.example': ['192.0.2.7'] }
    const { find } = await sourceWith({ names, hostsPath: '/nowhere/hosts' })
    expect(await find('hooks.example')).toEqual(['192.0.2.7'])
  })

  test('may be unreadable', async () => {
    const names = { 'hooks.example': ['192.0.2.7'] }
    // A folder cannot be read, not even by root.
    const folder = await temporaryFolder()
    const { find } = await sourceWith({ names, hostsPath: folder })
    expect(await find('hooks.example')).toEqual(['192.0.2.7'])
    expect((await find('localhost'))[0]).toBe('127.0.0.1')
  })
})

describe('the system resolver', () => {
  test('completes short names, which DNS is asked for as they are', async () => {
    const systemLookup = () => Promise.resolve(addressesOf('192.0.2.9'))
    const { find, server } = await sourceWith({ systemLookup })
    expect(await find('hooks')).toEqual(['192.0.2.9'])
    expect(new Set(server.queriedNames)).toEqual(new Set(['hooks']))
  })

  test('is not asked for a name with a final dot', async () => {
    const systemLookup = () => Promise.resolve(addressesOf('192.0.2.9'))
    const { find } = await sourceWith({ systemLookup })
    await expect(find('hooks.crm.')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  test('is asked if DNS has no answer or fails', async () => {
    const systemLookup = (name: string) =>
      Promise.resolve(addressesOf(name === 'printer.local' ? '192.0.2.9' : '192.0.2.10'))
    const names = { 'single-label': 'server-failure' } as const
    const { find } = await sourceWith({ names, systemLookup })
    expect(await find('printer.local')).toEqual(['192.0.2.9'])
    expect(await find('single-label')).toEqual(['192.0.2.10'])
  })

  test('is asked for at most two names at a time', async () => {
    const { opened, open } = gate()
    const queried: string[] = []
    const systemLookup = async (name: string) => {
      queried.push(name)
      await opened
      return addressesOf('192.0.2.9')
    }
    const { find } = await sourceWith({ systemLookup })
    const controller = new AbortController()
    const stuck = ['a.local', 'b.local', 'c.local'].map((name) =>
      find(name, controller.signal).catch((error: unknown) => error),
    )
    await expect.poll(() => queried.length).toBe(2)
    controller.abort()
    for (const error of await Promise.all(stuck)) expect(error).toMatchObject({ code: 'EAI_AGAIN' })
    const next = find('d.local')
    expect(queried).toHaveLength(2)
    open()
    expect(await next).toEqual(['192.0.2.9'])
    expect(queried.at(-1)).toBe('d.local')
    expect(queried).toHaveLength(3)
  })
})

test('an unanswered query for one address family does not delay the addresses of the other', async () => {
  const clock = new ManualClock(startMs)
  const { source, server } = await sourceWith({ names: { 'half.example': ['192.0.2.7'] }, clock })
  server.ignoredFamily = 6
  const found = source.find('half.example', new AbortController().signal)
  while (clock.nextDueMs() === undefined) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(1_000)
  expect((await found).addresses).toEqual(addressesOf('192.0.2.7'))
})
