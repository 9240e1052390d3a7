import { describe, expect, test } from 'vitest'
import { runBinary } from '../support/binary.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'

/** Sends one call and returns the outcome. The clock is virtual, so retries take no time. */
async function send(...argv: readonly string[]) {
  const flags = ['send', 'track', '--json', '--clock', 'virtual']
  const { code, records } = await runBinary([...flags, ...argv])
  const ofKind = (wanted: string) => records.filter(({ kind }) => kind === wanted)
  return { code, requests: ofKind('request'), delivery: ofKind('delivery')[0] }
}

describe('an endpoint', () => {
  test('that answers 503 twice and then 200 gets the call at the third attempt', async () => {
    const endpoint = await TestEndpoint.start([503, 503, 200])
    const { code, delivery } = await send('--to', endpoint.url)
    expect(code).toBe(0)
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 3, reason: null })
    expect(endpoint.requests).toHaveLength(3)
    const bodies = endpoint.requests.map(({ body }) => body.toString())
    expect(new Set(bodies).size).toBe(1)
  })

  test.each([
    {
      endpoint: 'that never answers',
      plan: 'hang',
      flags: ['--timeout', '50ms'],
      reason: 'timeout',
    },
    { endpoint: 'that resets the connection', plan: 'reset', flags: [], reason: 'ECONNRESET' },
  ] as const)('$endpoint is tried until the window ends', async ({ plan, flags, reason }) => {
    const endpoint = await TestEndpoint.start(plan)
    const { code, requests, delivery } = await send('--to', endpoint.url, ...flags)
    expect(code).toBe(4)
    expect(requests.length).toBeGreaterThan(1)
    expect(requests.map(({ outcome, status, error }) => ({ outcome, status, error }))).toEqual(
      requests.map(() => ({ outcome: 'retry', status: null, error: reason })),
    )
    expect(delivery).toMatchObject({ state: 'expired', attempts: requests.length, reason })
  })

  test('that refuses connections is tried until the window ends', async () => {
    const { code, delivery } = await send('--to', await unreachableUrl(), '--retry-for', '15s')
    expect(code).toBe(4)
    expect(delivery).toMatchObject({ state: 'expired', attempts: 2, reason: 'ECONNREFUSED' })
  })

  test('with a self-signed certificate is given up at once, and no request reaches it', async () => {
    const endpoint = await TestEndpoint.start(200, await makeCertificate())
    const { code, requests, delivery } = await send('--to', endpoint.url)
    const reason = 'DEPTH_ZERO_SELF_SIGNED_CERT'
    expect(code).toBe(4)
    expect(requests).toMatchObject([{ outcome: 'final', status: null, error: reason }])
    expect(delivery).toMatchObject({ state: 'failed', attempts: 1, reason })
    expect(endpoint.requests).toEqual([])
  })

  test('that answers 404 is given up at once', async () => {
    const endpoint = await TestEndpoint.start(404)
    const { code, delivery } = await send('--to', endpoint.url)
    expect(code).toBe(4)
    expect(delivery).toMatchObject({ state: 'failed', attempts: 1, reason: 'status_404' })
    expect(endpoint.requests).toHaveLength(1)
  })

  test('that accepts the call is enough, and a failing one is not tried again', async () => {
    const works = await TestEndpoint.start(200)
    const broken = await TestEndpoint.start(503)
    const { code, delivery } = await send('--to', works.url, '--to', broken.url)
    expect(code).toBe(0)
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, reason: null })
    expect([works.requests.length, broken.requests.length]).toEqual([1, 1])
  })

  test('that always answers 503 is tried for the whole window of four hours', async () => {
    const endpoint = await TestEndpoint.start(503)
    const { code, requests, delivery } = await send('--to', endpoint.url, '--retry-for', '4h')
    expect(code).toBe(4)
    expect(delivery).toMatchObject({ state: 'expired', attempts: requests.length })
    expect(requests.length).toBeGreaterThanOrEqual(9)
    const times = requests.map(({ at }) => Date.parse(at as string))
    const virtualMs = times.at(-1)! - times[0]!
    // The next wait, of at most 72 minutes, would have ended after the window.
    expect(virtualMs).toBeGreaterThan((4 * 60 - 72) * 60_000)
    expect(virtualMs).toBeLessThanOrEqual(4 * 60 * 60_000)
  })
})
