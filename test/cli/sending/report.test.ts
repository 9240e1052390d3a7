import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Report } from '../../../src/cli/sending/report.ts'
import { readSendingOptions } from '../../../src/cli/sending/sending-options.ts'
import { imbalances, type Ledger } from '../../../src/model/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { unreachableUrl } from '../../support/free-port.ts'
import { CapturedStream, run } from '../../support/io.ts'

const call = (fields: object = {}) =>
  JSON.stringify({ type: 'track', userId: 'u_1', event: 'E', ...fields })

describe('JSON records', () => {
  test('have the documented fields, and nothing else is on stdout', async () => {
    const endpoint = await TestEndpoint.start([503, 200])
    const argv = ['send', '-f', '-', '--json', '--clock', 'virtual', '--to', endpoint.url]
    const stdin = `${call({ messageId: 'm_1' })}\nbroken`
    const { code, records, stderr } = await run(argv, { stdin })
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    const rejected = records.find(({ kind }) => kind === 'rejected')
    expect(rejected).toEqual({
      v: 1,
      kind: 'rejected',
      line: 2,
      code: 'invalid_json',
      message: expect.any(String) as string,
    })
    const about = { v: 1, kind: 'request', messageId: 'm_1', url: endpoint.url }
    const measured = { ms: expect.any(Number) as number, at: expect.stringMatching(/Z$/) as string }
    expect(records.filter(({ kind }) => kind === 'request')).toEqual([
      { ...about, ...measured, attempt: 1, outcome: 'retry', status: 503, error: 'status_503' },
      { ...about, ...measured, attempt: 2, outcome: 'success', status: 200, error: null },
    ])
    expect(records.slice(-2)).toEqual([
      {
        v: 1,
        kind: 'delivery',
        messageId: 'm_1',
        type: 'track',
        destination: expect.stringMatching(/^to-127\.0\.0\.1-\d+-[0-9a-f]{8}$/) as string,
        state: 'delivered',
        attempts: 2,
        reason: null,
      },
      {
        v: 1,
        kind: 'summary',
        read: 2,
        accepted: 1,
        rejected: 1,
        routed: 1,
        filtered: 0,
        duplicate: 0,
        suppressed: 0,
        deliveries: 1,
        delivered: 1,
        failed: 0,
        expired: 0,
        pending: 0,
        ms: expect.any(Number) as number,
      },
    ])
  })

  test('stay on one line each, whatever the payload contains', async () => {
    const stdin = call({ messageId: 'm_\u2028\u2029', event: '\u2028' })
    const { stdout, records } = await run(['send', '-f', '-', '-n', '--json'], { stdin })
    expect(stdout).not.toMatch(/[\u2028\u2029]/)
    expect(records[0]).toMatchObject({ messageId: 'm_\u2028\u2029' })
  })
})

describe('text', () => {
  test('reports failed requests on stderr, and says once for how long it retries', async () => {
    const url = await unreachableUrl()
    const argv = ['send', 'track', '--to', url, '--clock', 'virtual', '--retry-for', '20s']
    const { code, stdout, stderr } = await run(argv)
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    const refused = String.raw`connection refused \(ECONNREFUSED\)`
    const time = String.raw`\d\d:\d\d:\d\d\.\d{3}`
    expect(stderr).toMatch(
      new RegExp(
        `^${time}  attempt 1  ${refused}  ${url}  \\d+ms  [\\w-]{36}  next try in about \\d+s\n` +
          '  └ Nothing is listening there\\. Is `evroute listen` running\\? Retrying for 20s; see --retry-for\n' +
          `${time}  attempt 2  ${refused}  ${url}  \\d+ms  [\\w-]{36}\n` +
          `✖ track "Order Completed" → ${url} expired after 2 attempts: ${refused}\n$`,
      ),
    )
  })

  test('announces the next try when the endpoint asks for it', async () => {
    const answer = { status: 503, headers: { 'retry-after': '120' } }
    const { url } = await TestEndpoint.start([answer, 200])
    const argv = ['send', 'track', '--to', url, '--clock', 'virtual', '--retry-for', '10m']
    const { code, stderr } = await run(argv)
    expect(code).toBe(0)
    expect(stderr).toContain('  next try in about 2m\n')
  })

  test('says once how to find out why an endpoint refuses signatures', async () => {
    const { url } = await TestEndpoint.start([401, 401])
    const { stderr } = await run(['send', 'track', '--count', '2', '--to', url])
    const check = `\`evroute check ${url} --secret <secret>\``
    const advice = `  └ To see which signatures the endpoint accepts: ${check}\n`
    expect(stderr.split(advice)).toHaveLength(2)
  })

  test('announces no retry if there is none', async () => {
    const argv = ['send', 'track', '--to', await unreachableUrl(), '--retry-for', '0s']
    const { code, stderr } = await run(argv)
    expect(code).toBe(4)
    expect(stderr).not.toContain('Retrying for')
    expect(stderr).not.toContain('next try')
    expect(stderr).toContain('expired after 1 attempt: connection refused (ECONNREFUSED)')
  })

  test('has a line for every request with -v, and nothing but the summary with -q', async () => {
    const endpoint = await TestEndpoint.start([503, 200])
    const argv = ['send', 'track', '--count', '2', '--clock', 'virtual', '--to', endpoint.url]
    const verbose = await run([...argv, '-v'])
    expect(verbose.stderr.match(/ {2}(answered 503|200) {2}/g)).toHaveLength(3)
    const quiet = await run([...argv, '-q'])
    expect(quiet.stderr).toMatch(/^2 read = .*\n$/)
  })

  test('limits the lines about problems to 20, and counts the rest', async () => {
    const endpoint = await TestEndpoint.start(404)
    const fail = (count: number) =>
      run(['send', 'track', '--count', String(count), '--to', endpoint.url])
    // Each call has a line for its request and one for its delivery.
    const some = await fail(12)
    expect(some.stderr.match(/answered 404/g)).toHaveLength(20)
    expect(some.stderr).toContain('\n... and 4 more lines; --json lists all of them\n12 read')
    expect((await fail(10)).stderr).not.toContain('more line')
  })

  test('limits the lines about rejected rows to 100, apart from those about problems', async () => {
    const endpoint = await TestEndpoint.start(404)
    const send = (rejected: number) => ({
      stdin: `${call()}\n`.repeat(30) + 'broken\n'.repeat(rejected),
    })
    const argv = ['send', '-f', '-', '--flush-at', '1', '--to', endpoint.url]
    const all = await run(argv, send(100))
    expect(all.stderr.match(/^line \d+: .* \(invalid_json\)$/gm)).toHaveLength(100)
    expect(all.stderr).toContain('\n... and 40 more lines; --json lists all of them\n130 read')
    const one = await run(argv, send(101))
    expect(one.stderr.match(/^line /gm)).toHaveLength(100)
    expect(one.stderr).toContain(
      '... and 1 more rejected row; --dry-run --json lists all of them\n',
    )
    const many = await run(argv, send(1_300))
    expect(many.stderr).toContain(
      '... and 1,200 more rejected rows; --dry-run --json lists all of them',
    )
  })

  test('prints texts of rows and endpoints without control characters', async () => {
    const endpoint = await TestEndpoint.start(404)
    const stdin = [
      call({ messageId: 'm\u001b[2J\u202e\u0007\n1' }),
      call({ type: '\u001b]0;title\u0007\u202etrack' }),
      call({ event: 5, '\u001b[31m': 1 }),
    ].join('\n')
    const sent = await run(['send', '-f', '-', '-v', '--to', endpoint.url], { stdin })
    const typed = await run(['send', 'page', '-f', '-', '--to', endpoint.url], { stdin })
    const planned = await run(['explain', '-'], { stdin })
    for (const { stdout, stderr } of [sent, typed, planned]) {
      expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
    }
    expect(sent.stderr).toContain('track m 1 failed after 1 attempt: answered 404')
    expect(planned.stdout).toContain('TRACK m 1\n')
  })

  test('warns about numbers that may have been rounded, except with --quiet and --json', async () => {
    const endpoint = await TestEndpoint.start()
    const argv = ['send', '-f', '-', '--to', endpoint.url]
    const stdin = call({ properties: { order: 2 ** 60 }, messageId: 'm_1' })
    const warning = 'send such ids as strings (logged once) messageId=m_1 '
    expect((await run(argv, { stdin })).stderr).toContain(warning)
    expect((await run([...argv, '-q'], { stdin })).stderr).not.toContain('warn')
    expect((await run([...argv, '--json'], { stdin })).stderr).toBe('')
  })

  test('says that a timeout means no answer in time', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const argv = ['send', 'track', '--timeout', '1ms', '--retry-for', '0s', '--to', endpoint.url]
    const { code, stderr } = await run(argv)
    expect(code).toBe(4)
    expect(stderr.match(/timeout/g)).toHaveLength(2)
    expect(stderr).toMatch(
      / {2}no answer in time \(timeout\) {2}.*\n.* expired after 1 attempt: no/,
    )
  })
})

describe('a slow reader of stdout', () => {
  test('is waited for, even if it catches up before the wait begins', async () => {
    class EagerStream extends CapturedStream {
      override write(text: string): boolean {
        super.write(text)
        queueMicrotask(() => this.emit('drain'))
        return false
      }
    }
    const stdout = new EagerStream()
    const stderr = new CapturedStream()
    const stop = new AbortController().signal
    const io = { stdin: process.stdin, stdout, stderr, env: {}, stop, interrupted: stop }
    const report = new Report(io, await readSendingOptions({ json: true }, io), () => 0)
    report.rejected({ line: 1 }, { code: 'invalid_json', message: '' })
    await new Promise((resolve) => setImmediate(resolve))
    await report.stdout.ready()
    expect(stdout.records).toHaveLength(1)
  })
})

describe('the summary', () => {
  const row = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ text: call(), good: true, filtered: false }) },
    fc.constant({ text: call({ integrations: { All: false } }), good: true, filtered: true }),
    fc.constant({ text: '{"type":"delete","userId":"u_1"}', good: true, filtered: false }),
    fc
      .constantFrom('broken', 'null', '{"type":"track"}', '{"type":"delete"}', '{"type":"x"}')
      .map((text) => ({ text, good: false, filtered: false })),
  )

  test('balances, and the exit code reports the outcome', async () => {
    const endpoint = await TestEndpoint.start(({ body }) => (body.includes('delete') ? 410 : 200))
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 60 }),
        fc.integer({ min: 1, max: 30 }),
        async (rows, flushAt) => {
          const argv = [
            'send',
            '-f',
            '-',
            '--json',
            '--flush-at',
            String(flushAt),
            '--to',
            endpoint.url,
          ]
          const { code, records } = await run(argv, {
            stdin: rows.map(({ text }) => text).join('\n'),
          })
          const summary = records.at(-1) as unknown as Ledger
          const good = rows.filter((each) => each.good).length
          const filtered = rows.filter((each) => each.filtered).length
          const failed = rows.filter((each) => each.good && each.text.includes('delete')).length
          expect(imbalances(summary)).toEqual([])
          expect(summary).toMatchObject({
            read: rows.length,
            accepted: good,
            rejected: rows.length - good,
            filtered,
            routed: good - filtered,
            delivered: good - filtered - failed,
            failed,
          })
          expect(code).toBe(failed > 0 ? 4 : good < rows.length ? 3 : 0)
        },
      ),
      { numRuns: 25 },
    )
  })
})
