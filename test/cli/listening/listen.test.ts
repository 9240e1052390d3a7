import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { listen, type ListenOptions } from '../../../src/cli/listening/listen.ts'
import type { Io, StopReason } from '../../../src/cli/io.ts'
import type { ExitCode } from '../../../src/cli/exit-code.ts'
import { CapturedStream } from '../../support/io.ts'

const options: ListenOptions = {
  host: '127.0.0.1',
  port: 0,
  secret: undefined,
  otherSecrets: [],
  strict: false,
  ...{ respond: undefined, delayMs: undefined, failShare: undefined, fault: undefined },
  ...{ seed: undefined, tls: undefined, endpoints: undefined, scenario: undefined },
  count: undefined,
  expectations: [],
  filter: undefined,
  reports: [],
  timeoutMs: undefined,
  save: undefined,
  forwardTo: [],
  forwardTimeoutMs: undefined,
  forwardHeaders: {},
  forwardInsecure: false,
  forwardFilter: undefined,
  token: undefined,
  last: undefined,
  allowUnverified: false,
  onEvent: undefined,
  input: true,
  json: true,
  quiet: false,
  verbose: false,
  color: false,
}

/** Accepts everything, but reports for events that its buffer is full. */
class SlowStream extends CapturedStream {
  override write(text: string): boolean {
    super.write(text)
    return !text.includes('"kind":"event"') && !text.includes('TRACK')
  }
}

interface Listening {
  readonly ended: Promise<ExitCode>
  readonly stdout: SlowStream
  readonly url: string
  readonly stop: (reason: StopReason) => void
}

async function listening(changes: Partial<ListenOptions> = {}): Promise<Listening> {
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
  const ended = listen({ ...options, ...changes }, io)
  const output = changes.json === false ? stderr : stdout
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
    { json: true, line: /"kind":"event".*\n/g },
    { json: false, line: /TRACK.*\n/g },
  ])('writes one event at a time and keeps senders waiting, json: $json', async (parts) => {
    const { ended, stdout, url, stop } = await listening({ json: parts.json })
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
    { reason: 'SIGINT', count: undefined, code: 0 },
    { reason: 'SIGINT', count: 1, code: 0 },
    { reason: 'SIGINT', count: 2, code: 5 },
    { reason: 'SIGTERM', count: 2, code: 5 },
    { reason: 'output_closed', count: 2, code: 5 },
  ] as const)(
    'ends with $code on $reason after one webhook if the count is $count',
    async ({ reason, count, code }) => {
      const { ended, stdout, url, stop } = await listening({ count })
      const posting = post(url)
      await stdout.record('event')
      stop(reason)
      expect(await ended).toBe(code)
      expect(await posting).toBe(200)
    },
  )

  test.each([
    { count: undefined, code: 0 },
    { count: 5, code: 5 },
  ])('ends with $code after its time if the count is $count', async ({ count, code }) => {
    const { ended, stdout, url } = await listening({ count, timeoutMs: 1_000 })
    const posting = post(url)
    expect(await ended).toBe(code)
    expect(await posting).toBe(200)
    expect(stdout.records.map(({ kind }) => kind)).toEqual(['ready', 'event', 'summary'])
  })
})
