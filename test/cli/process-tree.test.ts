import { describe, expect, test } from 'vitest'
import { treeSignal } from '../../src/cli/process-tree.ts'

describe('treeSignal', () => {
  test.each(['linux', 'darwin'] as const)('signals the process group on %s', (platform) => {
    const signals = ['SIGINT', 'SIGHUP', 'SIGSTOP', 'SIGCONT', 'SIGTERM', 'SIGKILL', 0] as const
    for (const signal of signals) {
      expect(treeSignal(platform, 42, signal)).toEqual({ kind: 'kill', pid: -42, signal })
    }
  })

  test.each(['SIGTERM', 'SIGKILL'] as const)('runs taskkill for %s on Windows', (signal) => {
    expect(treeSignal('win32', 42, signal)).toEqual({
      kind: 'run',
      program: 'taskkill',
      args: ['/pid', '42', '/t', '/f'],
    })
  })

  test.each(['SIGINT', 'SIGHUP', 'SIGSTOP', 'SIGCONT'] as const)(
    'leaves %s to the console on Windows',
    (signal) => {
      expect(treeSignal('win32', 42, signal)).toEqual({ kind: 'none' })
    },
  )

  test('checks the program itself on Windows', () => {
    expect(treeSignal('win32', 42, 0)).toEqual({ kind: 'kill', pid: 42, signal: 0 })
  })
})
