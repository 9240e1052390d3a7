import { describe, expect, test } from 'vitest'
import { run } from '../../support/io.ts'

async function explain(integrations: object, argv: readonly string[] = []) {
  const stdin = JSON.stringify({
    type: 'track',
    userId: 'u_1',
    event: 'E',
    messageId: 'm_1',
    integrations,
  })
  return run(['explain', '-', ...argv], { stdin })
}

describe('explain', () => {
  test.each([
    [{}, 'enabled_by_default', 'would be sent: all destinations are enabled by default'],
    [
      { All: false, Webhooks: true },
      'enabled_by_name',
      'would be sent: "integrations" enables Webhooks by name',
    ],
    [
      { Webhooks: false },
      'disabled_by_name',
      'would not be sent: "integrations" disables Webhooks by name',
    ],
    [{ All: false }, 'disabled_by_all', 'would not be sent: "integrations" disables All'],
  ])('says what the integrations %j lead to', async (integrations, reason, words) => {
    const text = await explain(integrations)
    expect(text.code).toBe(0)
    expect(text.stdout.split('\n').slice(0, 2)).toEqual([
      'TRACK m_1',
      expect.stringContaining(words),
    ])
    expect(text.stdout.includes('POST')).toBe(words.startsWith('would be sent'))
    const { records } = await explain(integrations, ['--json'])
    expect(records[0]).toMatchObject({
      kind: 'plan',
      reason,
      send: words.startsWith('would be sent'),
      hint: null,
    })
  })

  test('points at a misspelled name', async () => {
    const integrations = { webhooks: true, All: false }
    expect((await explain(integrations)).stdout).toContain(
      'The key "webhooks" has no effect: keys are case sensitive',
    )
    const { records } = await explain(integrations, ['--json'])
    expect(records[0]).toMatchObject({
      send: false,
      body: null,
      signature: null,
      hint: expect.stringContaining('"webhooks"') as string,
    })
  })

  test('signs with the secret, and names the endpoints', async () => {
    const { stdout } = await explain({}, ['--secret', 'k', '--to', 'https://example.com/hook'])
    expect(stdout).toContain('POST https://example.com/hook (')
    expect(stdout).toMatch(/X-Signature: [0-9a-f]{40}\n/)
  })

  test('ends with 3 when a call would be rejected', async () => {
    const { code, stderr } = await run(['explain', '-'], {
      stdin: '{"type":"track","userId":"u_1"}',
    })
    expect(code).toBe(3)
    expect(stderr).toContain('line 1: track needs an event (no_event)')
  })

  test('uses the endpoint of EVROUTE_URL, and not the service of EVROUTE_ENDPOINT', async () => {
    const env = { EVROUTE_URL: 'https://example.com/hook', EVROUTE_ENDPOINT: 'http://127.0.0.1:9' }
    const stdin = '{"type":"track","userId":"u_1","event":"E"}'
    const { stdout } = await run(['explain', '-'], { stdin, env })
    expect(stdout).toContain('POST https://example.com/hook (')
  })
})
