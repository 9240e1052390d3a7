import { describe, expect, test } from 'vitest'
import { eventTypes } from '../../../src/model/index.ts'
import { run, start } from '../../support/io.ts'

describe('demo', () => {
  test('shows both sides of all seven types, and ends with 0', async () => {
    const { code, stdout, stderr } = await run(['demo'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const [index, type] of eventTypes.entries()) {
      expect(stdout).toMatch(
        new RegExp(
          `sent     ${type}\nreceived \\S+  #${index + 1}    ${type.toUpperCase()} .*✔ signed  200`,
        ),
      )
    }
    expect(stdout).toContain(
      '\n7 read = 7 accepted · 7 accepted = 7 routed · 7 deliveries = 7 delivered',
    )
    expect(stdout).toContain('npx evroute send track --secret s3cret\n')
  })

  test('prints both sides as records', async () => {
    const { code, records } = await run(['demo', '--json'], {
      env: { EVROUTE_ENDPOINT: 'http://127.0.0.1:9' },
    })
    expect(code).toBe(0)
    const ofKind = (wanted: string) => records.filter(({ kind }) => kind === wanted)
    expect(ofKind('event').map(({ type, signature }) => [type, signature])).toEqual(
      eventTypes.map((type) => [type, 'valid']),
    )
    expect(ofKind('request')).toHaveLength(7)
    expect(ofKind('delivery').map(({ state }) => state)).toEqual(Array(7).fill('delivered'))
    expect(records.at(-1)).toMatchObject({ v: 1, kind: 'summary', read: 7, delivered: 7 })
  })

  test('shows a failure and a wrong signature on a page until a signal', async () => {
    const command = start(['demo', '--page'])
    const [, url = ''] = await command.stderr.matching(/See them on the page: (\S+)/)
    const records = (await (await fetch(new URL('events?after=7', url))).text()).trim().split('\n')
    expect(records.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { status: 503, signature: 'valid' },
      { status: 200, signature: 'valid' },
      { signature: 'invalid', diagnosis: { mistake: 'secret_space' } },
    ])
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('ends on a signal while the failed webhook waits for its retry', async () => {
    const command = start(['demo', '--page'])
    await command.stdout.matching(/injected status 503/)
    command.stop('SIGINT')
    const { code, stdout, stderr } = await command.ended
    expect(code).toBe(0)
    expect(stdout).not.toContain('same id: #8')
    expect(stderr).toBe('')
  })

  test('fits into a narrow terminal', async () => {
    const { stdout } = await run(['demo'], { columns: 70 })
    const received = stdout.split('\n').filter((line) => line.startsWith('received'))
    expect(Math.max(...received.map((line) => line.length))).toBeLessThanOrEqual(70)
  })
})
