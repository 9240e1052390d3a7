import type { LookupAddress } from 'node:dns'
import { describe, expect, test } from 'vitest'
import { AddressGuard, type ResolveName } from '../../src/http/index.ts'
import { checkDestination, checkNames, type RequestOutcome } from '../../src/webhook/index.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { postTo } from './post-to.ts'

const hint = 'To allow this host, add it to network.allow'

const addressesOf = (texts: readonly string[]): readonly LookupAddress[] =>
  texts.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

/** Returns the answers in turn, repeats the last one, and records the questions. */
function resolver(...answers: readonly (readonly string[])[]): {
  readonly resolveName: ResolveName
  readonly questions: readonly string[]
} {
  const questions: string[] = []
  const resolveName: ResolveName = (name) => {
    const answer = answers[Math.min(questions.length, answers.length - 1)] ?? []
    questions.push(name)
    return Promise.resolve(addressesOf(answer))
  }
  return { resolveName, questions }
}

/** Returns the URL of an endpoint, with a host name instead of its address. */
const named = (endpoint: TestEndpoint, name: string): string =>
  endpoint.url.replace('127.0.0.1', name)

function refused(code: string, message: string): RequestOutcome {
  return { kind: 'address_refused', code, message: `Cannot send to ${message}. ${hint}` }
}

describe('a sender with a guard does not connect', () => {
  test.each(['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.0.0.1.', '[::ffff:7f00:1]'])(
    'to the address %s',
    async (spelling) => {
      const endpoint = await TestEndpoint.start()
      const post = postTo({ url: named(endpoint, spelling) }, { guard: new AddressGuard() })
      const shown = spelling.startsWith('[') ? '::ffff:7f00:1' : '127.0.0.1'
      expect(await post()).toEqual(
        refused('loopback_address', `${shown}: it is a loopback address (127.0.0.0/8)`),
      )
      expect(endpoint.connections).toBe(0)
    },
  )

  test('to a local name', async () => {
    const endpoint = await TestEndpoint.start()
    const post = postTo({ url: named(endpoint, 'localhost') }, { guard: new AddressGuard() })
    expect(await post()).toEqual(
      refused('loopback_address', 'localhost: it is a name of this machine'),
    )
    expect(endpoint.connections).toBe(0)
  })

  test('to a name that resolves to such an address', async () => {
    const endpoint = await TestEndpoint.start()
    const guard = new AddressGuard({ ...resolver(['127.0.0.1']) })
    const post = postTo({ url: named(endpoint, 'hooks.example.com') }, { guard })
    expect(await post()).toEqual(
      refused(
        'loopback_address',
        'hooks.example.com: its address 127.0.0.1 is a loopback address (127.0.0.0/8)',
      ),
    )
    expect(endpoint.connections).toBe(0)
  })

  test('to a name with both an allowed and a refused address', async () => {
    const endpoint = await TestEndpoint.start()
    const guard = new AddressGuard({
      allow: ['127.0.0.1'],
      ...resolver(['127.0.0.1', '10.0.0.5']),
    })
    const post = postTo({ url: named(endpoint, 'hooks.example.com') }, { guard })
    expect(await post()).toMatchObject({ kind: 'address_refused', code: 'private_address' })
    expect(endpoint.connections).toBe(0)
  })

  test('over TLS either', async () => {
    const endpoint = await TestEndpoint.start(200, await makeCertificate())
    const guard = new AddressGuard({ ...resolver(['127.0.0.1']) })
    for (const url of [endpoint.url, named(endpoint, 'hooks.example.com')]) {
      expect(await postTo({ url }, { guard })()).toMatchObject({ kind: 'address_refused' })
    }
    expect(endpoint.connections).toBe(0)
  })

  test('on repeated attempts, over one connection or several', async () => {
    const endpoint = await TestEndpoint.start()
    const guard = new AddressGuard()
    const post = postTo({ url: endpoint.url }, { guard, concurrency: 2 })
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => post()))
    for (const outcome of [...outcomes, await post()]) {
      expect(outcome.kind).toBe('address_refused')
    }
    expect(endpoint.connections).toBe(0)
  })
})

describe('a name whose address changes', () => {
  test('after the check is refused on connecting', async () => {
    const endpoint = await TestEndpoint.start()
    const { resolveName, questions } = resolver(['93.184.216.34'], ['127.0.0.1'])
    const guard = new AddressGuard({ resolveName })
    const url = named(endpoint, 'rebind.example.com')
    const settings = { id: 'crm', sourceIds: ['website'], endpoints: [{ url }] }
    expect(await checkNames(checkDestination(settings, guard), guard)).toEqual([])
    expect(await postTo({ url }, { guard })()).toMatchObject({ kind: 'address_refused' })
    expect(questions).toHaveLength(2)
    expect(endpoint.connections).toBe(0)
  })

  test('while the sender connects leads to the checked address', async () => {
    const checked = await TestEndpoint.start()
    // A second lookup would lead to an address without a listener.
    const { resolveName, questions } = resolver(['127.0.0.1'], ['127.0.0.2'])
    const guard = new AddressGuard({ allow: ['127.0.0.0/8'], resolveName })
    const url = named(checked, 'rebind.example.com')
    const post = postTo({ url }, { guard })
    expect(await post()).toMatchObject({ kind: 'answered', status: 200 })
    expect(questions).toEqual(['rebind.example.com'])
    expect(checked.requests[0]?.headers.host).toBe(new URL(url).host)
  })

  test('later is refused for the next connection, while the open one is kept', async () => {
    const endpoint = await TestEndpoint.start([200, 200, 'hang-up', 200])
    const { resolveName } = resolver(['127.0.0.1'], ['10.0.0.5'])
    const guard = new AddressGuard({ allow: ['127.0.0.1'], resolveName })
    const post = postTo({ url: named(endpoint, 'rebind.example.com') }, { guard, concurrency: 1 })
    for (let count = 0; count < 3; count++) await post()
    expect(await post()).toMatchObject({ kind: 'address_refused', code: 'private_address' })
    expect(endpoint.requests).toHaveLength(3)
    expect(endpoint.connections).toBe(1)
  })
})

describe('a sender with a guard', () => {
  test('connects where network.allow permits it', async () => {
    const endpoint = await TestEndpoint.start()
    const { resolveName } = resolver(['127.0.0.1'])
    const byAddress = new AddressGuard({ allow: ['127.0.0.0/8'], resolveName })
    const byName = new AddressGuard({ allow: ['hooks.internal'], resolveName })
    const url = named(endpoint, 'hooks.internal')
    const posts = [
      postTo({ url: endpoint.url }, { guard: byAddress }),
      postTo({ url }, { guard: byAddress }),
      postTo({ url }, { guard: byName }),
    ]
    for (const post of posts) expect(await post()).toMatchObject({ kind: 'answered', status: 200 })
    const other = postTo({ url: endpoint.url }, { guard: byName })
    expect(await other()).toMatchObject({ kind: 'address_refused' })
    expect(endpoint.requests).toHaveLength(3)
  })

  test('distinguishes a name without an address from a refused one', async () => {
    const error = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const guard = new AddressGuard({ resolveName: () => Promise.reject(error) })
    const post = postTo({ url: 'http://hooks.example.com/' }, { guard })
    expect(await post()).toMatchObject({ kind: 'connection_failed', code: 'ENOTFOUND' })
  })

  test('waits for a name no longer than the deadline', async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start()
    const guard = new AddressGuard({
      allow: ['127.0.0.1'],
      resolveName: async () => {
        await opened
        return addressesOf(['127.0.0.1'])
      },
    })
    const url = named(endpoint, 'hooks.example.com')
    const post = postTo({ url }, { guard, deadlineMs: 500, concurrency: 1 })
    expect(await post()).toEqual({ kind: 'timeout' })
    open()
    expect(await post()).toMatchObject({ kind: 'answered' })
    expect(endpoint.connections).toBe(1)
  })
})

test('a sender without a guard connects to any address', async () => {
  const endpoint = await TestEndpoint.start()
  expect(await postTo({ url: endpoint.url })()).toMatchObject({ kind: 'answered', status: 200 })
})
