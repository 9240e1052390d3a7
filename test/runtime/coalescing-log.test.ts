import { describe, expect, test } from 'vitest'
import { CoalescingLog, lineLog, ManualClock } from '../../src/runtime/index.ts'

const minuteMs = 60_000

function createLog() {
  const lines: string[] = []
  const clock = new ManualClock(0)
  const log = new CoalescingLog(
    lineLog((line) => lines.push(line.trimEnd())),
    clock,
  )
  return { lines, clock, log }
}

describe('a coalescing log', () => {
  test('writes the first line at once, and then one a minute with the number of repetitions', async () => {
    const { lines, clock, log } = createLog()
    const timedOut = (messageId: string): void => {
      log.warn('webhook timed out', { code: 'timeout', messageId, url: 'http://a.example' })
    }
    timedOut('m_1')
    expect(lines).toEqual([
      'warn webhook timed out code=timeout messageId=m_1 url=http://a.example',
    ])
    for (let second = 2; second <= 150; second++) {
      await clock.advance(1_000)
      timedOut(`m_${second}`)
    }
    log.close()
    expect(lines.slice(1)).toEqual([
      'warn webhook timed out code=timeout messageId=m_60 url=http://a.example repeated=59',
      'warn webhook timed out code=timeout messageId=m_120 url=http://a.example repeated=60',
      'warn webhook timed out code=timeout messageId=m_150 url=http://a.example repeated=30',
    ])
  })

  test('distinguishes lines by level, message and fields, but ignores fields such as the error', () => {
    const { lines, log } = createLog()
    log.warn('an endpoint is down', { url: 'http://a.example', error: 'timeout' })
    log.warn('an endpoint is down', { url: 'http://a.example', error: 'ECONNRESET' })
    log.warn('an endpoint is down', { url: 'http://b.example', error: 'timeout' })
    log.info('an endpoint is down', { url: 'http://a.example' })
    log.warn('an endpoint is well', { url: 'http://a.example' })
    expect(lines).toHaveLength(4)
  })

  test('writes a line at once again after a minute without one', async () => {
    const { lines, clock, log } = createLog()
    log.warn('the store cannot be read')
    await clock.advance(2 * minuteMs)
    log.warn('the store cannot be read')
    expect(lines).toEqual(['warn the store cannot be read', 'warn the store cannot be read'])
  })

  test('schedules nothing while there is nothing to count', async () => {
    const { clock, log } = createLog()
    log.info('serving')
    await clock.advance(2 * minuteMs)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('writes repeated kinds in the order of their latest lines', async () => {
    const { lines, clock, log } = createLog()
    const down = (): void => log.warn('an endpoint is down')
    const well = (): void => log.info('an endpoint has recovered')
    for (const logLine of [down, well, down, well, down]) logLine()
    await clock.advance(minuteMs)
    expect(lines.slice(2)).toEqual([
      'info an endpoint has recovered repeated=1',
      'warn an endpoint is down repeated=2',
    ])
  })

  test('is bounded: beyond 1,000 kinds, lines with the same message are one kind', () => {
    const { lines, log } = createLog()
    for (let index = 0; index < 3_000; index++) {
      log.warn('events could not be stored', { sourceId: `s_${index}` })
    }
    expect(lines).toHaveLength(1_001)
    log.close()
    expect(lines.slice(1_001)).toEqual([
      'warn events could not be stored sourceId=s_2999 repeated=1999',
    ])
  })

  test('writes its counts once when it is closed, and coalesces nothing afterwards', () => {
    const { lines, clock, log } = createLog()
    for (let round = 0; round < 3; round++) log.debug('circuit breaker')
    log.close()
    log.close()
    log.debug('circuit breaker')
    log.debug('circuit breaker')
    expect(lines).toEqual([
      'debug circuit breaker',
      'debug circuit breaker repeated=2',
      'debug circuit breaker',
      'debug circuit breaker',
    ])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('writes every line with `each`', () => {
    const { lines, log } = createLog()
    for (let count = 0; count < 3; count++) log.each('admin action', { by: 'page' })
    expect(lines).toEqual(Array(3).fill('info admin action by=page'))
  })
})
