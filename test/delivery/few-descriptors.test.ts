import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'

const program = new URL('deliver-with-few-descriptors.ts', import.meta.url)
const hooks = new URL('../support/typescript.js', import.meta.url)

test.runIf(process.platform === 'linux')(
  'a process with too few descriptors delivers everything more slowly, and opens no breaker',
  async () => {
    const after = (): Promise<void> => delay(20)
    const endpoint = await TestEndpoint.start(() => ({ status: 200, after: after() }))
    const port = new URL(endpoint.origin).port
    const node = [
      process.execPath,
      '--import',
      hooks.href,
      fileURLToPath(program),
      port,
      '30',
      '10',
    ]
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      'ulimit -n 90 && exec "$@"',
      'bash',
      ...node,
    ])
    const result = JSON.parse(stdout) as Record<string, unknown>
    expect(result).toMatchObject({ breakers: 0, otherFailures: 0, delivered: 300, failed: 0 })
    expect(result['shortages']).toBeGreaterThan(0)
    expect(result['warnings']).toEqual([
      {
        message: 'this process cannot open more connections and is slowing down',
        code: 'EMFILE',
        hint: "raise this process's limit on open files (ulimit -n)",
      },
    ])
  },
)
