import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { processIo, writeData, type Io } from '../../src/cli/io.ts'
import { CapturedStream } from '../support/io.ts'

class SlowStream extends CapturedStream {
  override write(text: string): boolean {
    super.write(text)
    return false
  }
}

function ioOf(stdout: CapturedStream, stop: AbortSignal): Io {
  const stderr = new CapturedStream()
  return { stdin: process.stdin, stdout, stderr, env: {}, stop, interrupted: stop }
}

describe('writeData', () => {
  test('waits for a slow reader', async () => {
    const stdout = new SlowStream()
    let written = false
    const writing = writeData(ioOf(stdout, new AbortController().signal), 'data').then(
      () => (written = true),
    )
    await Promise.resolve()
    expect({ text: stdout.text, written }).toEqual({ text: 'data', written: false })
    stdout.emit('drain')
    expect(await writing).toBe(true)
  })

  test('stops waiting when the command is stopped, and writes nothing to a reader that left', async () => {
    const stdout = new SlowStream()
    const stop = new AbortController()
    const io = ioOf(stdout, stop.signal)
    const writing = writeData(io, 'one')
    stop.abort('output_closed')
    await writing
    await writeData(io, 'two')
    expect(stdout.text).toBe('one')
  })

  test('leaves no listener on the signal, however often it waits', async () => {
    const stdout = new SlowStream()
    const { signal } = new AbortController()
    for (let turn = 0; turn < 20; turn++) {
      const wait = writeData(ioOf(stdout, signal), 'data')
      stdout.emit('drain')
      await wait
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

describe('processIo', () => {
  const before = signals.map((signal) => process.listeners(signal))
  afterEach(() => {
    for (const [index, signal] of signals.entries()) {
      process.removeAllListeners(signal)
      for (const listener of before[index]!) process.on(signal, listener)
    }
  })

  test('asks the command to end if output cannot be written, and says why', async () => {
    const io = await processIo()
    process.stdout.emit('error', Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
    io.release()
    expect(io.stop.reason).toMatchObject({
      code: 'cannot_write_file',
      message: 'Cannot write the output: no space left',
    })
    expect(io.interrupted.aborted).toBe(false)
  })

  test('does not know the width of a terminal that reports 0', async () => {
    const { columns } = process.stdout
    onTestFinished(() => void Object.assign(process.stdout, { columns }))
    const io = await processIo()
    const seen = [0, 70].map((width) => {
      process.stdout.columns = width
      return io.stdout.columns
    })
    io.release()
    expect(seen).toEqual([undefined, 70])
  })

  test('asks the command to end at the first signal', async () => {
    const io = await processIo()
    process.emit('SIGTERM', 'SIGTERM')
    io.release()
    expect(io.stop.reason).toBe('SIGTERM')
    expect(io.interrupted.reason).toBe('SIGTERM')
  })
})
