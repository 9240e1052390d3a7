import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  jsonLog,
  lineLog,
  logFrom,
  logFromEnvironment,
  logLevels,
  ManualClock,
} from '../../src/runtime/index.ts'

function recorded(): { readonly lines: string[]; readonly log: ReturnType<typeof lineLog> } {
  const lines: string[] = []
  return { lines, log: lineLog((line) => lines.push(line)) }
}

describe('logFrom', () => {
  test.each([
    ['debug', logLevels],
    ['info', ['info', 'warn']],
    ['warn', ['warn']],
  ] as const)('writes lines of the level %s and above', (from, expected) => {
    const { lines, log } = recorded()
    const leveled = logFrom(from, log)
    for (const level of logLevels) leveled[level]('a line')
    expect(lines).toEqual(expected.map((level) => `${level} a line\n`))
  })
})

describe('lineLog', () => {
  test('writes the level, the message and every field that has a value', () => {
    const { lines, log } = recorded()
    log.debug('sending a batch', { calls: 3, last: true, reason: null, retry: undefined })
    log.info('serving')
    log.warn('halving a batch')
    expect(lines).toEqual([
      'debug sending a batch calls=3 last=true reason=null\n',
      'info serving\n',
      'warn halving a batch\n',
    ])
  })

  test('writes one line and no forged fields, whatever a value contains', () => {
    const { lines, log } = recorded()
    log.warn('refused', { messageId: 'a\nwarn forged\u001b[2J\u2028\u202e\u009b-ü-🙂' })
    log.warn('refused', { messageId: 'x by=token', userId: '', id: 'ü-🙂' })
    expect(lines).toEqual([
      'warn refused messageId="a\\nwarn forged\\u001b[2J\\u2028\\u202e\\u009b-ü-🙂"\n',
      'warn refused messageId="x by=token" userId="" id=ü-🙂\n',
    ])
  })
})

describe('jsonLog', () => {
  function recordedJson() {
    const lines: string[] = []
    const clock = new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678))
    return { lines, log: jsonLog((line) => lines.push(line), clock) }
  }

  test('writes the time, the level, the message and every field that has a value', () => {
    const { lines, log } = recordedJson()
    log.debug('sending a batch', { calls: 3, last: true, reason: null, retry: undefined })
    log.info('serving')
    log.warn('halving a batch')
    expect(lines).toEqual([
      '{"time":"2026-01-02T03:04:05.678Z","level":"debug","message":"sending a batch","calls":3,"last":true,"reason":null}\n',
      '{"time":"2026-01-02T03:04:05.678Z","level":"info","message":"serving"}\n',
      '{"time":"2026-01-02T03:04:05.678Z","level":"warn","message":"halving a batch"}\n',
    ])
  })

  test('keeps the time, level and message, whatever the fields are called', () => {
    const { lines, log } = recordedJson()
    log.warn('late', { level: 'none', message: 'none', time: 'none', code: 'timeout' })
    expect(lines).toEqual([
      '{"time":"2026-01-02T03:04:05.678Z","level":"warn","message":"late","code":"timeout"}\n',
    ])
  })

  test('keeps each line on one line without control characters, and its values unchanged', () => {
    const { lines, log } = recordedJson()
    const messageId = 'a"\\\nb\u001b[2J\u2028\u202e\u009b-ü-🙂-\u{e0041}-\ud800'
    log.warn('refused', { messageId })
    const [line = ''] = lines
    expect(line.trimEnd()).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u)
    expect(line).toContain('-ü-🙂-')
    expect(JSON.parse(line)).toMatchObject({ messageId })
  })
})

describe('logFromEnvironment', () => {
  test.each([
    'analytics',
    'analytics*',
    '*',
    'express,analytics',
    'express analytics',
    ' analytics ',
  ])('writes to stderr for DEBUG=%j', (debug) => {
    const written = captureStderr()
    logFromEnvironment({ DEBUG: debug }).debug('queued', { type: 'track' })
    expect(written).toEqual(['analytics debug queued type=track\n'])
  })

  test.each([undefined, '', 'Analytics', 'analytics-node', 'express', '1'])(
    'writes only warnings, as warnings of the process, for DEBUG=%j',
    async (debug) => {
      const written = captureStderr()
      const log = logFromEnvironment(debug === undefined ? {} : { DEBUG: debug })
      log.debug('queued')
      log.info('serving')
      expect(written).toEqual([])
      const warned = once(process, 'warning')
      log.warn('late', { messageId: 'a\nb' })
      expect(await warned).toMatchObject([
        { name: 'EvrouteWarning', message: 'late messageId="a\\nb"' },
      ])
    },
  )

  test('warns on stderr for DEBUG=analytics, and only there', async () => {
    const written = captureStderr()
    const warnings: Error[] = []
    const listener = (warning: Error): number => warnings.push(warning)
    process.on('warning', listener)
    onTestFinished(() => void process.off('warning', listener))
    logFromEnvironment({ DEBUG: 'analytics' }).warn('late')
    await new Promise(setImmediate)
    expect(written).toEqual(['analytics warn late\n'])
    expect(warnings).toEqual([])
  })
})

/** Captures what is written to stderr until the test ends. */
function captureStderr(): readonly string[] {
  const written: string[] = []
  const original = Object.getOwnPropertyDescriptor(process.stderr, 'write')
  const write = (text: string): boolean => written.push(text) > 0
  Object.defineProperty(process.stderr, 'write', { value: write, configurable: true })
  onTestFinished(() => {
    if (original === undefined) Reflect.deleteProperty(process.stderr, 'write')
    else Object.defineProperty(process.stderr, 'write', original)
  })
  return written
}
