import { describe, expect, test } from 'vitest'
import { readSendingOptions } from '../../../src/cli/sending/sending-options.ts'
import { repeatedRows } from '../../../src/cli/sending/row-source.ts'
import { transfer } from '../../../src/cli/sending/transfer.ts'
import { imbalances, type Ledger } from '../../../src/model/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { gate } from '../../support/gate.ts'
import { CapturedStream, start } from '../../support/io.ts'

const rows = (count: number) => '{"type":"track","userId":"u_1","event":"E"}\n'.repeat(count)

describe('a transfer that is stopped', () => {
  test('ends with 130 and reports unfinished work', async () => {
    const endpoint = await TestEndpoint.start([200, 200, 'hang'])
    const command = start(['send', '-f', '-', '--to', endpoint.url], { stdin: rows(20) })
    await endpoint.received(12)
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stderr).toContain('20 deliveries = 2 delivered + 18 pending')
    expect(stderr).toMatch(
      /\nInterrupted: 18 of 20 deliveries pending\. The pending deliveries are lost\. Pass --store sqlite:<file> to be able to resume\n$/,
    )
    expect(endpoint.requests).toHaveLength(12)
  })

  test('does not wait for input that never comes', async () => {
    const { opened } = gate()
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(rows(1))
      await opened
    }
    const endpoint = await TestEndpoint.start()
    const argv = ['send', '-f', '-', '--json', '--flush-at', '1', '--to', endpoint.url]
    const command = start(argv, { stdin: endless() })
    await command.stdout.record('delivery')
    command.stop('SIGTERM')
    const { code, records, stderr } = await command.ended
    expect(code).toBe(130)
    expect(records.at(-1)).toMatchObject({ kind: 'summary', read: 1, delivered: 1, pending: 0 })
    expect(stderr).toMatch(/^Interrupted: 0 of 1 delivery pending\. Pass --store/)
  })

  test('does not speak of deliveries and losses before the first row', async () => {
    const command = start(['send', '-f', '-'], { stdin: endless() })
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/\nInterrupted after 0 rows\n$/)

    async function* endless(): AsyncGenerator<Uint8Array> {
      await gate().opened
      yield Buffer.from('')
    }
  })

  test.each(['SIGTERM', 'output_closed'])(
    'ends with 0 if nothing is left to do at %s',
    async (reason) => {
      const { url } = await TestEndpoint.start()
      const stop = new AbortController()
      class StoppingStream extends CapturedStream {
        override write(text: string): boolean {
          if (text.includes('"kind":"delivery"')) stop.abort(reason)
          return super.write(text)
        }
      }
      const stderr = new CapturedStream()
      const io = {
        stdin: process.stdin,
        stdout: new StoppingStream(),
        stderr,
        env: {},
        stop: stop.signal,
        interrupted: reason === 'SIGTERM' ? stop.signal : new AbortController().signal,
      }
      const options = await readSendingOptions({ to: [url], json: true }, io)
      const call = { type: 'track', userId: 'u_1', event: 'E' }
      expect(await transfer({ io, options, rows: repeatedRows(call, 1, {}) })).toBe(0)
      expect(stderr.text).toBe('')
    },
  )

  test('counts the calls that are still waiting', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const argv = ['send', 'track', '--count', '30000', '--clock', 'virtual', '--json']
    const command = start([...argv, '--to', endpoint.url])
    await endpoint.received(10)
    command.stop()
    const { code, records, stderr } = await command.ended
    expect(code).toBe(130)
    const summary = records.at(-1) as unknown as Ledger
    expect(imbalances(summary)).toEqual([])
    const { read, accepted, routed, pending } = summary
    expect({ accepted, routed, pending }).toEqual({ accepted: read, routed: read, pending: read })
    // The store holds 10,000, the client's queue 1,000; one row waits for room.
    expect(read).toBeLessThanOrEqual(11_001)
    expect(stderr).not.toMatch(/next try|Retrying for/)
    expect(stderr).toMatch(/^Interrupted: ([\d,]+) of \1 deliveries pending\n$/)
  })

  test('with the virtual clock, does not wait for a silent service', async () => {
    const service = await TestEndpoint.start('hang')
    const argv = ['send', 'track', '--clock', 'virtual', '--endpoint', service.url]
    const command = start([...argv, '--write-key', 'wk_example', '--count', '30', '--json'])
    await service.received(1)
    command.stop()
    const { code, records } = await command.ended
    expect(code).toBe(130)
    expect(records.at(-1)).toMatchObject({ read: 30, accepted: 30, pending: 30, failed: 0 })
    expect(service.requests.length).toBeLessThan(10)
  })

  test('announces no retry of requests that it interrupted', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const command = start(['send', 'track', '--to', endpoint.url])
    await endpoint.received(1)
    command.stop()
    const { stderr } = await command.ended
    expect(stderr).toContain('interrupted')
    expect(stderr).not.toMatch(/next try|Retrying for/)
  })

  test('reacts to an interrupt however fast rows arrive', async () => {
    const command = start(['send', 'track', '--count', '1000000', '--dry-run', '--json'])
    setImmediate(() => command.stop())
    const { code, records } = await command.ended
    expect(code).toBe(130)
    expect(imbalances(records.at(-1) as unknown as Ledger)).toEqual([])
  })

  test('releases its input', async () => {
    const released = gate()
    async function* twoRows(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(rows(2))
        yield Buffer.from(rows(2))
        await gate().opened
      } finally {
        released.open()
      }
    }
    const endpoint = await TestEndpoint.start()
    const argv = ['replay', '-', '--rate', '0.01', '--json', '--flush-at', '1']
    const command = start([...argv, '--to', endpoint.url], { stdin: twoRows() })
    await command.stdout.record('delivery')
    command.stop()
    expect(await command.ended).toMatchObject({ code: 130 })
    await released.opened
  })

  test('says what is lost when the reader of its output leaves, and ends with 130', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const command = start(['send', '--file', '-', '--json', '--to', endpoint.url], {
      stdin: rows(2),
    })
    await endpoint.received(1)
    command.stop('output_closed')
    const { code, stdout, stderr } = await command.ended
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(
      /^Interrupted: 2 of 2 deliveries pending. The pending deliveries are lost/,
    )
  })
})

describe('the virtual clock', () => {
  test('shows the whole schedule of four hours: when each attempt is made, and the end', async () => {
    const endpoint = await TestEndpoint.start(503)
    const argv = ['send', 'track', '--clock', 'virtual', '--retry-for', '4h', '--json']
    const { code, records } = await start([...argv, '--to', endpoint.url]).ended
    expect(code).toBe(4)
    const requests = records.filter(({ kind }) => kind === 'request')
    const delivery = records.find(({ kind }) => kind === 'delivery')
    expect(delivery).toMatchObject({
      state: 'expired',
      attempts: requests.length,
      reason: 'status_503',
    })
    const times = requests.map(({ at }) => Date.parse(at as string))
    const waits = times.slice(1).map((time, index) => (time - times[index]!) / 1_000)
    const expected = [10, 25, 62.5, 156.25, 390.625, 976.5625, 2441.40625, 3600, 3600, 3600]
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(Math.floor(expected[index]! * 0.8))
      expect(wait).toBeLessThanOrEqual(Math.ceil(expected[index]! * 1.2) + 1)
    }
    expect(waits.length).toBeGreaterThanOrEqual(9)
    expect(times.at(-1)! - times[0]!).toBeLessThanOrEqual(4 * 60 * 60 * 1_000)
  })
})

describe('a transfer with an internal error', () => {
  test('ends with 1, the error, and the ledger so far', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const call = { type: 'track', userId: 'u_1', event: 'E' }
    const unusable = {
      get type(): string {
        throw new TypeError('worn out')
      },
    }
    async function* source() {
      yield {
        rows: [call, call].map((value, line) => ({ kind: 'row' as const, line, value, bytes: 0 })),
      }
      await endpoint.received(2)
      yield { rows: [{ kind: 'row' as const, line: 3, value: unusable, bytes: 0 }] }
    }
    const stderr = new CapturedStream()
    const stop = new AbortController().signal
    const io = {
      stdin: process.stdin,
      stdout: new CapturedStream(),
      stderr,
      env: {},
      stop,
      interrupted: stop,
    }
    const options = await readSendingOptions({ to: [endpoint.url], flushAt: 1 }, io)
    const rows = { total: () => undefined, [Symbol.asyncIterator]: source }
    expect(await transfer({ io, options, rows })).toBe(1)
    expect(stderr.text).toContain('Something went wrong inside evroute: TypeError: worn out')
    expect(stderr.text).toMatch(/\n3 read = 3 accepted .* 3 deliveries = 0 delivered \+ 3 pending/)
    expect(stderr.text).not.toMatch(/next try|Retrying for/)
  })
})
