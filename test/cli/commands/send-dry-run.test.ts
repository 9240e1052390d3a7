import { describe, expect, test } from 'vitest'
import { verifySignature } from '../../../src/webhook/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'

describe('send --dry-run', () => {
  test('shows the exact webhook as text, and opens no connection', async () => {
    const endpoint = await TestEndpoint.start()
    const argv = ['send', 'track', '-n', '--secret', 'k', '--to', endpoint.url, '--user-id', 'u_1']
    const { code, stdout, stderr } = await run(argv)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^TRACK [\w-]{36}\n {2}would be sent: all destinations are enabled by default\n/,
    )
    expect(stdout).toContain(`  POST ${endpoint.url} (`)
    expect(stdout).toMatch(/ {2}X-Signature: [0-9a-f]{40}\n {2}\{\n {4}"version": 1,/)
    expect(stderr).toBe(`track "Order Completed" would be sent to ${endpoint.url}\n`)
    expect(endpoint.connections).toBe(0)
  })

  test('prints only the summary with --quiet', async () => {
    const { code, stdout, stderr } = await run(['send', 'track', '-n', '-q', '--user-id', 'u_1'])
    expect(code).toBe(0)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^track .* would be sent to .*\n$/)
  })

  test('prints plans as records: the bytes that would be sent, with their signature', async () => {
    const stdin =
      '{"type":"alias","userId":"u_1","previousId":"a_1"}\n{"type":"delete","userId":"u_1"}'
    const { code, records } = await run(['send', '-f', '-', '-n', '--json', '--secret', 'k'], {
      stdin,
    })
    expect(code).toBe(0)
    expect(records).toMatchObject([
      {
        v: 1,
        kind: 'plan',
        type: 'alias',
        send: true,
        reason: 'enabled_by_default',
        hint: null,
        urls: ['http://127.0.0.1:4100/'],
      },
      { v: 1, kind: 'plan', type: 'delete', send: true },
      { v: 1, kind: 'summary', read: 2, accepted: 2, routed: 2, deliveries: 0 },
    ])
    for (const { body, signature } of records.slice(0, 2)) {
      expect(verifySignature(body as string, signature as string, 'k')).toBe(true)
    }
  })

  test('plans the call for a service, and refuses deletions', async () => {
    const service = await TestEndpoint.start()
    const stdin = '{"type":"track","userId":"u_1","event":"E"}\n{"type":"delete","userId":"u_1"}'
    const argv = ['send', '-f', '-', '-n', '--endpoint', service.url, '--write-key', 'wk']
    const { code, stdout, stderr } = await run(argv, { stdin })
    expect(code).toBe(3)
    expect(stdout).toContain(`POST ${service.url}`)
    expect(stderr).toContain('line 2: A tracking API does not accept deletions (unknown_type)')
    expect(service.connections).toBe(0)
  })

  test('of a deletion says which flag is missing', async () => {
    const { code, stderr } = await run(['send', 'delete', '-n'])
    expect(code).toBe(2)
    expect(stderr).toContain('--user-id: it must name a user. Add --user-id <id>.')
  })
})
