import { describe, expect, test } from 'vitest'
import { verifySignature } from '../../../src/webhook/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'

describe('--body-style', () => {
  test.each([
    ['spaced', /^\{"version": 1, "type": "track", /],
    ['escaped', /"url":"https:\\\/\\\/shop\.example\.com\\\/caf\\u00e9"/],
    ['reordered', /^\{"messageId":.*"version":1\}$/],
    ['pretty', /^\{\n {2}"version": 1,\n/],
  ])('writes a body that is %s, and signs those bytes', async (style, written) => {
    const endpoint = await TestEndpoint.start()
    const argv = ['send', 'track', '--body-style', style, '--secret', 'k', '--to', endpoint.url]
    const { code } = await run([...argv, 'url=https://shop.example.com/café'])
    expect(code).toBe(0)
    const [request] = endpoint.requests
    expect(request?.body.toString()).toMatch(written)
    const signature = request?.headers['x-signature']
    expect(verifySignature(request?.body ?? '', signature, 'k')).toBe(true)
    expect(request?.headers).toMatchObject({
      'user-agent': 'evroute/1.0',
      'content-type': 'application/json',
    })
    expect(endpoint.bodies).toMatchObject([
      { type: 'track', properties: { url: 'https://shop.example.com/café' } },
    ])
  })

  test('shows the same bytes in a dry run', async () => {
    const { records } = await run([
      ...['send', 'track', '--body-style', 'spaced', '--dry-run', '--json', '--secret', 'k'],
    ])
    const [{ body, signature } = {}] = records
    expect(body).toMatch(/^\{"version": 1, /)
    expect(verifySignature(body as string, signature as string, 'k')).toBe(true)
  })

  test('is refused with a service, and if the style is unknown', async () => {
    const service = ['send', 'track', '--endpoint', 'http://127.0.0.1:1', '--write-key', 'wk']
    expect(await run([...service, '--body-style', 'spaced'])).toMatchObject({ code: 2 })
    const unknown = await run(['send', 'track', '--body-style', 'yaml'])
    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.stderr).toContain('spaced, escaped, reordered, pretty')
  })
})
