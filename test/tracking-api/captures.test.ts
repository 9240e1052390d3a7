import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { IntakeBatch } from '../../src/intake/index.ts'
import type { JsonObject } from '../../src/model/index.ts'
import { fixture } from '../support/fixtures.ts'
import { dial, startApi } from './support.ts'

const captures = readdirSync(fixture('tracking-api'))
  .filter((file) => file.endsWith('.http'))
  .map((file) => file.slice(0, -'.http'.length))
  .sort()

/** Writes bytes to a port and reads one answer. */
async function exchange(port: number, bytes: Buffer): Promise<string> {
  const socket = await dial(port)
  socket.write(bytes)
  let answer = ''
  for await (const chunk of socket) {
    answer += String(chunk)
    if (/\r\n\r\n\{.*\}$/.test(answer)) break
  }
  return answer
}

describe('recorded requests of clients, byte for byte', () => {
  test('exist for every client', () => {
    expect(captures).toEqual([
      'csharp',
      'go-1',
      'go-2',
      'go-2-empty',
      'go-3',
      'java',
      'kotlin',
      'kotlin-inflated',
      'php',
      'php-gzip',
      'python',
      'python-gzip',
      'ruby',
      'rudder-beacon',
      'rudder-node',
    ])
  })

  test.each(captures)('%s', async (name) => {
    const wanted = JSON.parse(readFileSync(fixture(`tracking-api/${name}.json`), 'utf8')) as Pick<
      IntakeBatch,
      'calls' | 'sentAt'
    >
    const { batches, webhooks, port } = await startApi()
    const bytes = readFileSync(fixture(`tracking-api/${name}.http`))
    const count = wanted.calls.length
    const answer = await exchange(port, bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer).toContain(`{"success":true,"accepted":${count},"rejected":[]}`)
    expect(await webhooks()).toHaveLength(count)
    const checkedTypes = wanted.calls.map((call) => (call as JsonObject)['type'])
    expect(batches).toEqual(count === 0 ? [] : [{ sourceId: 'website', ...wanted, checkedTypes }])
  })
})
