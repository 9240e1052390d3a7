import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { runBinary, startBinary, TestProcess } from '../support/binary.ts'
import { fixture } from '../support/fixtures.ts'

const calls = fixture('calls.ndjson')
const hasPython = spawnSync('python3', ['--version']).status === 0

describe('the 1,000 calls of fixtures/calls.ndjson', () => {
  test('arrive at listen, each valid and only once, and both commands end with 0', async () => {
    const listen = ['listen', '--port', '0', '--secret', 'k', '--json']
    const receiver = startBinary([...listen, '--count', '1000', '--timeout', '60s'])
    const { url } = await receiver.stdout.record('ready')
    const sent = await runBinary(['send', '--file', calls, '--to', url as string, '--secret', 'k'])
    const received = await receiver.ended
    expect([sent.code, received.code]).toEqual([0, 0])
    expect(sent).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(
        /^1,000 read = 1,000 accepted · 1,000 accepted = 1,000 routed · 1,000 deliveries = 1,000 delivered \(.*\)\n$/,
      ) as string,
    })
    const events = received.records.filter(({ kind }) => kind === 'event')
    expect(events).toHaveLength(1_000)
    expect(new Set(events.map(({ signature }) => signature))).toEqual(new Set(['valid']))
    const ids = events.map(({ body }) => (body as { messageId: string }).messageId)
    expect(new Set(ids).size).toBe(1_000)
    expect(received.records.at(-1)).toMatchObject({
      kind: 'summary',
      received: 1_000,
      valid: 1_000,
    })
  })

  test.skipIf(!hasPython)(
    'have signatures that a receiver in Python accepts (skipped without python3)',
    async () => {
      const script = fileURLToPath(new URL('receiver.py', import.meta.url))
      const receiver = new TestProcess('python3', [script, 'clé'], { PYTHONUTF8: '1' })
      const [, port = ''] = await receiver.stdout.matching(/^port (\d+)\n/)
      const url = `http://127.0.0.1:${port}/hook`
      const { code } = await runBinary(['send', '--file', calls, '--to', url, '--secret', 'clé'])
      receiver.signal('SIGTERM')
      const { stdout } = await receiver.ended
      expect(code).toBe(0)
      expect(stdout.split('\n').slice(1, -1)).toEqual(Array<string>(1_000).fill('valid'))
    },
  )
})

test('demo shows all seven types on both sides and ends with 0', async () => {
  const { code, stdout, stderr } = await runBinary(['demo'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.match(/^received .*✔ signed {2}200/gm)).toHaveLength(7)
})
