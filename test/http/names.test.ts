import { describe, expect, onTestFinished, test } from 'vitest'
import { AddressGuard, NameSource, Names, type NameAnswer } from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { DnsServer, type NameRecord } from '../support/dns-server.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'

const errorOf = (code: string): Error => Object.assign(new Error(code), { code })

type Answer = NameAnswer | Error | 'never'

/** A response with one address. */
const to = (address: string, ttlMs = 10_000): NameAnswer => ({
  addresses: [{ address, family: 4 }],
  ttlMs,
})

/** Names whose source gives these responses in turn, and repeats the last one. */
function namesFrom(...answers: readonly Answer[]) {
  const clock = new ManualClock(startMs)
  const queried: string[] = []
  const find = (name: string, signal: AbortSignal): Promise<NameAnswer> => {
    const answer = answers[Math.min(queried.length, answers.length - 1)] ?? 'never'
    queried.push(name)
    if (answer instanceof Error) return Promise.reject(answer)
    if (answer !== 'never') return Promise.resolve(answer)
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(errorOf('ECANCELLED'))),
    )
  }
  const names = new Names({ source: { find }, clock })
  const resolve = (name = 'hooks.example'): Promise<string> =>
    names.resolve(name).then(
      (addresses) => addresses.map(({ address }) => address).join(),
      (error: unknown) => (error as { readonly code: string }).code,
    )
  return { resolve, clock, queried }
}

describe('a name is looked up', () => {
  test('once for simultaneous callers', async () => {
    const { opened, open } = gate()
    let questions = 0
    const find = async (): Promise<NameAnswer> => {
      questions++
      await opened
      return to('192.0.2.1')
    }
    const names = new Names({ source: { find } })
    const all = Array.from({ length: 50 }, () => names.resolve('hooks.example'))
    open()
    for (const addresses of await Promise.all(all)) expect(addresses).toHaveLength(1)
    expect(questions).toBe(1)
  })

  test('again when its response has expired', async () => {
    const { resolve, clock, queried } = namesFrom(to('192.0.2.1', 10_000), to('192.0.2.2'))
    expect([await resolve(), await resolve()]).toEqual(['192.0.2.1', '192.0.2.1'])
    await clock.advance(9_999)
    expect(await resolve()).toBe('192.0.2.1')
    await clock.advance(1)
    expect(await resolve()).toBe('192.0.2.2')
    expect(queried).toHaveLength(2)
  })

  test.each([
    [0, 1_000],
    [86_400_000, 30_000],
  ])('within limits, whatever its TTL: %i ms count as %i', async (ttlMs, heldMs) => {
    const { resolve, clock } = namesFrom(to('192.0.2.1', ttlMs), to('192.0.2.2'))
    await resolve()
    await clock.advance(heldMs - 1)
    expect(await resolve()).toBe('192.0.2.1')
    await clock.advance(1)
    expect(await resolve()).toBe('192.0.2.2')
  })

  test.each([
    ['ENOTFOUND', 5_000],
    ['EAI_AGAIN', 1_000],
  ])('again after a failure with %s, %i ms later', async (code, failedMs) => {
    const { resolve, clock } = namesFrom(errorOf(code), to('192.0.2.1'))
    expect(await resolve()).toBe(code)
    await clock.advance(failedMs - 1)
    expect(await resolve()).toBe(code)
    await clock.advance(1)
    expect(await resolve()).toBe('192.0.2.1')
  })

  test('again when the clock is set back', async () => {
    const { queried, ...first } = namesFrom(to('192.0.2.1'))
    await first.resolve()
    const clockBack = first.clock as unknown as { nowMs(): number }
    clockBack.nowMs = () => startMs - 3_600_000
    await first.resolve()
    expect(queried).toHaveLength(2)
  })
})

describe('a name without a response', () => {
  test('fails after 4 s', async () => {
    const { resolve, clock, queried } = namesFrom('never')
    let result = ''
    void resolve().then((code) => (result = code))
    await clock.advance(3_999)
    expect(result).toBe('')
    await clock.advance(1)
    expect(result).toBe('EAI_AGAIN')
    expect(queried).toHaveLength(1)
  })

  test('fails even if it had addresses before', async () => {
    const { resolve, clock } = namesFrom(to('192.0.2.1'), 'never', to('192.0.2.2'))
    expect(await resolve()).toBe('192.0.2.1')
    await clock.advance(10_000)
    const second = resolve()
    await clock.advance(4_000)
    expect(await second).toBe('EAI_AGAIN')
    await clock.advance(1_000)
    expect(await resolve()).toBe('192.0.2.2')
  })
})

describe('names that are looked up in DNS', () => {
  async function namesOf(records: Readonly<Record<string, NameRecord>>) {
    const server = await DnsServer.start(records)
    onTestFinished(() => server.close())
    const source = new NameSource({
      servers: [server.address],
      hostsPath: '/nowhere/hosts',
      systemLookup: () => Promise.reject(errorOf('ENOTFOUND')),
    })
    return { names: new Names({ source }), server }
  }

  test('do not delay others if they are never answered, however many there are', async () => {
    const dead = Array.from({ length: 300 }, (_, index) => `dead${index}.example`)
    const { names, server } = await namesOf({
      ...Object.fromEntries(dead.map((name) => [name, 'silent'] as const)),
      'healthy.example': ['192.0.2.1'],
    })
    const answered: string[] = []
    const resolve = async (name: string): Promise<void> => {
      await names.resolve(name).catch(() => undefined)
      answered.push(name)
    }
    dead.forEach((name) => void resolve(name))
    await server.received('dead0.example')
    await resolve('healthy.example')
    // No more lookups were aborted than the names before it needed.
    expect(answered.filter((name) => name.startsWith('dead')).length).toBeLessThanOrEqual(101)
  })

  test('are refused by a guard if any address is not public, even from the cache', async () => {
    const { names } = await namesOf({ 'mixed.example': ['93.184.215.14', '10.0.0.5'] })
    const guard = new AddressGuard({ resolveName: names.resolve })
    await expect(guard.resolve('mixed.example')).rejects.toMatchObject({ code: 'private_address' })
    await expect(guard.resolve('mixed.example')).rejects.toMatchObject({ code: 'private_address' })
  })
})
