import { expect, test } from 'vitest'
import { progressText, startProgress } from '../../../src/cli/output/progress.ts'
import { CapturedStream } from '../../support/io.ts'

const progress = {
  done: 1_204,
  total: 4_816,
  pending: 40,
  failed: 2,
  elapsedMs: 4_000,
  problem: 'answered 503 from http://127.0.0.1:4100/',
}

test('the progress shows total, percentage, rate, time left, pending and failed', () => {
  expect(progressText(progress)).toBe(
    '1,204 of 4,816 (25%) · 301/s · 12s left · 40 pending · 2 failed · ' +
      'last problem: answered 503 from http://127.0.0.1:4100/',
  )
})

test('the progress estimates nothing for a pipe, whose length is unknown', () => {
  const unknown = { ...progress, total: undefined, pending: 0, failed: 0, problem: '' }
  expect(progressText(unknown)).toBe('1,204 done · 301/s')
})

test('the progress never exceeds 100 %', () => {
  const ended = { ...progress, total: 1_000, pending: 0, failed: 0, problem: '' }
  expect(progressText(ended)).toBe('1,204 of 1,204 (100%) · 301/s')
})

test('the progress is a line per minute if stderr is not a terminal, even with --quiet', () => {
  const stderr = new CapturedStream()
  const stop = new AbortController().signal
  const io = { stdin: process.stdin, stdout: stderr, stderr, env: {}, stop, interrupted: stop }
  let pass = (): void => undefined
  let line = 1
  let hasEnded = false
  const end = startProgress(io, () => `line ${line++}`, {
    color: false,
    quiet: true,
    repeat: (intervalMs, task) => {
      expect(intervalMs).toBe(60_000)
      pass = task
      return () => (hasEnded = true)
    },
  })
  pass()
  pass()
  expect(stderr.text).toBe('line 1\nline 2\n')
  end()
  expect(hasEnded).toBe(true)
})
