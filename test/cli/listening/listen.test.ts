import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import type { Io, StopReason } from '../../../src/cli/io.ts'
import { runCommand } from '../../../src/cli/program.ts'
import { CapturedStream } from '../../support/io.ts'

/** Accepts everything, but reports for events that its buffer is full. */
class SlowStream extends CapturedStream {
  override write(text: string): boolean {
    super.write(text)
    return !text.includes('"kind":"event"') && !text.includes('TRACK')
  }
}

interface Listening {
  readonly ended: Promise<number>
  readonly stdout: SlowStream
  readonly url: string
  readonly stop: (reason: StopReason) => void
}

async function listening(...flags: readonly string[]): Promise<Listening> {
  const [stdout, stderr] = [new SlowStream(), new CapturedStream()]
  const controller = new AbortController()
  const { signal } = controller
  const io: Io = {
    stdin: process.stdin,
    stdout,
    stderr,
    env: {},
    stop: signal,
    interrupted: signal,
  }
  const ended = runCommand(['listen', '--port', '0', ...flags], io)
  const output = flags.includes('--json') ? stdout : stderr
  const [url] = await output.matching(/http:\/\/127\.0\.0\.1:\d+/)
  return { ended, stdout, url, stop: (reason) => controller.abort(reason) }
}

async function post(url: string): Promise<number> {
  const body = '{"type":"track","userId":"u_1","event":"Order Completed"}'
  const response = await request(url, { method: 'POST', body })
  await response.body.dump()
  return response.statusCode
}

describe('listen with a slow reader', () => {
  test.each([
    { flags: ['--json'], line: /"kind":"event".*\n/g },
    { flags: [], line: /TRACK.*\n/g },
  ])('writes one event at a time and keeps senders waiting, flags: $flags', async (parts) => {
    const { ended, stdout, url, stop } = await listening(...parts.flags)
    const answers: number[] = []
    const posting = [1, 2, 3].map(() => post(url).then((status) => answers.push(status)))
    for (const events of [1, 2, 3]) {
      while ((stdout.text.match(parts.line) ?? []).length < events) {
        await new Promise((resolve) => stdout.once('written', resolve))
      }
      // An answer that does not wait would arrive during another round trip.
      await (await request(`${url}/healthz`)).body.dump()
      expect(answers.length).toBeLessThan(events)
      expect(stdout.text.match(parts.line)).toHaveLength(events)
      stdout.emit('drain')
    }
    await Promise.all(posting)
    expect(answers).toEqual([200, 200, 200])
    stop('SIGINT')
    expect(await ended).toBe(0)
  })

  test.each([
    { reason: 'SIGINT', flags: [], code: 0 },
    { reason: 'SIGINT', flags: ['--count', '1'], code: 0 },
    { reason: 'SIGINT', flags: ['--count', '2'], code: 5 },
    { reason: 'SIGTERM', flags: ['--count', '2'], code: 5 },
    { reason: 'output_closed', flags: ['--count', '2'], code: 5 },
  ] as const)(
    'ends with $code on $reason after one webhook with $flags',
    async ({ reason, flags, code }) => {
      const { ended, stdout, url, stop } = await listening('--json', ...flags)
      const posting = post(url)
      await stdout.record('event')
      stop(reason)
      expect(await ended).toBe(code)
      expect(await posting).toBe(200)
    },
  )

  test.each([
    { flags: [], code: 0 },
    { flags: ['--count', '5'], code: 5 },
  ])('ends with $code after its time with $flags', async ({ flags, code }) => {
    const { ended, stdout, url } = await listening('--json', '--timeout', '1s', ...flags)
    const posting = post(url)
    expect(await ended).toBe(code)
    expect(await posting).toBe(200)
    expect(stdout.records.map(({ kind }) => kind)).toEqual(['ready', 'event', 'summary'])
  })
})
