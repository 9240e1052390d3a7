import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { signalTree, spawnTree } from '../../src/cli/process-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each(['SIGTERM', 'SIGKILL'] as const)('a program exists until %s ends it', async (signal) => {
  const args = ['-e', 'setInterval(() => undefined, 1_000)']
  const child = spawnTree({ program: process.execPath, args, env: process.env, stdio: 'ignore' })
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  expect(signalTree(pid, 0)).toBe(true)
  const exit = once(child, 'exit')
  expect(signalTree(pid, signal)).toBe(true)
  await exit
  expect(signalTree(pid, 0)).toBe(false)
})

test.runIf(process.platform !== 'win32')(
  'on Windows, taskkill ends a tree, and other signals are left to the console',
  async () => {
    const folder = await temporaryFolder()
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH'] ?? ''}`)
    const log = join(folder, 'log')
    await writeFile(join(folder, 'taskkill'), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 })
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGSTOP', 'SIGCONT'] as const) {
      expect(signalTree(42, signal, 'win32')).toBe(true)
    }
    expect(signalTree(42, 'SIGTERM', 'win32')).toBe(true)
    expect(signalTree(43, 'SIGKILL', 'win32')).toBe(true)
    expect(signalTree(process.pid, 0, 'win32')).toBe(true)
    expect(await readFile(log, 'utf8')).toBe('/pid 42 /t /f\n/pid 43 /t /f\n')
  },
)
