import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfiguration } from '../../src/service/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { documentFor, startService } from './running-service.ts'

const secret = /not-a-real-path|not-a-real-query/

test('logs, metrics and API answers hide the path and query of an endpoint', async () => {
  const endpoint = await TestEndpoint.start(404)
  const url = new URL('/not-a-real-path?key=not-a-real-query', endpoint.url).href
  const destination = { endpoints: [{ url }] }
  const { service, track, settled, admin, warnings, infos } = await startService(
    documentFor(endpoint, { destination }),
  )
  await track('m_1')
  await expect.poll(() => settled).toHaveLength(1)
  const hidden = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/…#[0-9a-f]{6}$/) as string
  expect(warnings).toMatchObject([{ url: hidden, reason: 'status_404' }])
  expect((await admin('/v1/destinations')).body).toMatchObject({
    destinations: [{ endpoints: [{ url: hidden }] }],
  })
  const answers = await Promise.all(
    ['/metrics', '/v1/destinations', '/v1/deliveries', '/v1/deliveries/crm/1'].map((path) =>
      admin(path),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  for (const { body } of answers) expect(JSON.stringify(body)).not.toMatch(secret)
  await service.close()
  expect(infos).toMatchObject([{ url: hidden }])
  expect(JSON.stringify([warnings, infos])).not.toMatch(secret)
})

test('reveal=true shows the whole URL to a client with the admin token', async () => {
  const refusing = await TestEndpoint.start(404)
  const busy = await TestEndpoint.start(503)
  const url = new URL('/not-a-real-path?key=not-a-real-query', refusing.url).href
  const destination = { endpoints: [{ url }, { url: busy.url }] }
  const { track, admin } = await startService(documentFor(refusing, { destination }))
  await track('m_1')
  const holds = [{ url: expect.stringContaining('…#') as string, until: null }]
  await expect
    .poll(async () => (await admin('/v1/deliveries')).body)
    .toMatchObject({ deliveries: [{ attempts: 1, holds }] })
  expect((await admin('/v1/destinations?reveal=true')).body).toMatchObject({
    destinations: [{ endpoints: [{ url }, { url: busy.url }] }],
  })
  expect((await admin('/v1/deliveries/crm/1?reveal=true')).body).toMatchObject({
    requests: [{ url }, { url: busy.url }],
  })
  expect((await admin('/v1/deliveries?reveal=true')).body).toMatchObject({
    deliveries: [{ holds: [{ url }] }],
  })
  expect((await admin('/v1/destinations?reveal=perhaps')).status).toBe(400)
})

test('an endpoint URL can come from the environment or a file, and no problem shows it', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  await writeFile(join(folder, 'hook'), 'https://hooks.example.com/not-a-real-path\n')
  const document = (...urls: readonly string[]): string =>
    JSON.stringify({
      sources: [{ id: 'website', writeKeys: ['wk_example'] }],
      destinations: [
        {
          id: 'crm',
          type: 'Webhooks',
          sources: ['website'],
          endpoints: urls.map((url) => ({ url })),
        },
      ],
    })
  const read = (text: string) =>
    readConfiguration(path, {
      env: { HOOK: 'https://example.com/not-a-real-path', BAD_HOOK: 'not-a-real-path' },
      readFile: (file) => (file === path ? Promise.resolve(text) : readText(file)),
    })
  const valid = await read(document('env:HOOK', '@hook'))
  if (valid.kind !== 'valid') throw new Error(JSON.stringify(valid.problems))
  const { endpoints = [] } = valid.configuration.destinations[0] ?? {}
  expect(endpoints.map(({ url }) => url)).toEqual([
    'https://example.com/not-a-real-path',
    'https://hooks.example.com/not-a-real-path',
  ])
  const shown = valid.settings.filter(({ path: name }) => name.endsWith('.url'))
  expect(shown).toMatchObject([
    { value: expect.stringMatching(/^https:\/\/example\.com\/…#/) as string, origin: 'env:HOOK' },
    { value: expect.stringMatching(/^https:\/\/hooks\./) as string, origin: '@hook' },
  ])
  for (const urls of [['env:BAD_HOOK'], ['env:HOOK', 'env:HOOK']]) {
    const invalid = await read(document(...urls))
    expect(invalid).toMatchObject({ kind: 'invalid' })
    expect(JSON.stringify(invalid)).not.toMatch(secret)
  }
})

async function readText(file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(file, 'utf8')
}
