import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const destination = (id: string, settings: object = {}): object => ({
  id,
  type: 'Webhooks',
  sources: ['website'],
  endpoints: [{ url: `https://${id}.example.com/hook` }],
  ...settings,
})

const document = {
  sources: [
    { id: 'website', writeKeys: ['wk_website'] },
    { id: 'app', writeKeys: ['wk_app'] },
  ],
  destinations: [
    destination('crm', { sharedSecret: 'not-a-real-secret' }),
    destination('orders', { filter: 'type:track properties.revenue:>10' }),
    destination('off', { enabled: false }),
    destination('mobile', { sources: ['app'] }),
  ],
}

const stdin = JSON.stringify({
  type: 'track',
  userId: 'u_1',
  event: 'E',
  messageId: 'm_1',
  properties: { revenue: 5 },
})

async function explain(argv: readonly string[], changes: object = {}) {
  const file = join(await temporaryFolder(), 'evroute.config.json')
  await writeFile(file, JSON.stringify({ ...document, ...changes }))
  return run(['explain', '-', '--config', file, ...argv], { stdin })
}

describe('explain --config', () => {
  test('says which destinations get a call, and why others do not', async () => {
    const { code, records } = await explain(['--source', 'website', '--json'])
    expect(code).toBe(0)
    expect(
      records.slice(0, -1).map(({ destination, reason, hint }) => [destination, reason, hint]),
    ).toEqual([
      ['crm', 'enabled_by_default', null],
      ['orders', 'filter_not_matched', 'properties.revenue is 5, the filter wants >10'],
      ['off', 'destination_disabled', null],
      ['mobile', 'not_connected', null],
    ])
    const [crm] = records
    expect(crm).toMatchObject({
      send: true,
      urls: ['https://crm.example.com/hook'],
      signature: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
    })
    expect(records.at(-1)).toMatchObject({ accepted: 1, routed: 1 })
  })

  test('explains every destination as text', async () => {
    const { stdout } = await explain(['--source', 'app'])
    expect(stdout).toContain('TRACK m_1 → crm\n  would not be sent: the destination is not conn')
    expect(stdout).toContain('TRACK m_1 → mobile\n  would be sent: all destinations')
    const orders = await explain(['--source', 'website'])
    expect(orders.stdout).toContain(
      'TRACK m_1 → orders\n  would not be sent: the filter does not match\n' +
        '  properties.revenue is 5, the filter wants >10\n',
    )
  })

  test('requires a source only if there are several', async () => {
    const ambiguous = await explain([])
    expect(ambiguous.code).toBe(2)
    expect(ambiguous.stderr).toContain('No source is given: choose from website, app.')
    expect((await explain(['--source', 'nope'])).stderr).toContain('There is no source "nope"')
    const [source] = document.sources
    const [crm] = document.destinations
    const single = await explain(['--json'], { sources: [source], destinations: [crm] })
    expect(single.records.at(-1)).toMatchObject({ accepted: 1, routed: 1 })
  })

  test('refuses options that have no effect', async () => {
    expect((await explain(['--to', 'http://127.0.0.1:1/'])).stderr).toContain('Cannot use --to')
    expect((await explain(['--secret', 's'])).stderr).toContain('Cannot use --secret')
    const { code, stderr } = await run(
      ['explain', '-', '--source', 'a', '--to', 'http://127.0.0.1:1/'],
      { stdin },
    )
    expect([code, stderr]).toEqual([2, expect.stringContaining('--to together with --source')])
  })

  test('names the headers of a webhook without their values, which may be secret', async () => {
    const endpoints = [{ url: 'https://crm.example.com/', headers: { 'X-Team': 'growth' } }]
    const { stdout } = await explain(['--source', 'website'], {
      destinations: [destination('crm', { endpoints })],
    })
    expect(stdout).toMatch(/ {2}POST https:\/\/crm\.example\.com\/ .*\n {2}X-Team: \*{8}\n/)
    expect(stdout).not.toContain('growth')
  })

  test('points at the mistake in an invalid filter', async () => {
    const bad = { destinations: [destination('crm', { filter: 'type:track status:500' })] }
    const { code, stderr } = await explain([], bad)
    expect(code).toBe(2)
    expect(stderr).toContain('an event has no status')
    expect(stderr).toContain('      type:track status:500\n                 ^^^^^^^^^^')
  })
})

describe('explain in the folder of a configuration', () => {
  const folder = process.cwd()
  afterEach(() => process.chdir(folder))

  const explainThere = async (argv: readonly string[] = [], env = {}) => {
    process.chdir(await temporaryFolder())
    await writeFile('evroute.config.json', JSON.stringify(document))
    return run(['explain', '-', '--json', ...argv], { stdin, env })
  }

  test('plans for the destinations of the configuration', async () => {
    const { records } = await explainThere(['--source', 'website'])
    expect(records[0]).toMatchObject({ destination: 'crm', urls: ['https://crm.example.com/hook'] })
    const { code, stderr } = await explainThere()
    expect([code, stderr]).toEqual([2, expect.stringContaining('choose from website, app')])
  })

  test.each([
    { argv: ['--to', 'http://127.0.0.1:4100/'] },
    { argv: ['--secret', 's3cret'] },
    { argv: ['--header', 'X-Team: growth'] },
    { argv: [], env: { EVROUTE_URL: 'http://127.0.0.1:4100/' } },
  ])('plans for the destination that $argv $env describe', async ({ argv, env }) => {
    const { records } = await explainThere(argv, env)
    expect(records[0]).toMatchObject({ urls: ['http://127.0.0.1:4100/'] })
  })

  test('cannot use a source without a configuration', async () => {
    process.chdir(await temporaryFolder())
    const { code, stderr } = await run(['explain', '-', '--source', 'website'], { stdin })
    expect([code, stderr]).toEqual([7, expect.stringContaining('evroute.config.json')])
  })
})
