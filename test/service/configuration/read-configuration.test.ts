import { describe, expect, test } from 'vitest'
import { checkDestination } from '../../../src/webhook/index.ts'
import { defaultRetention } from '../../../src/delivery/index.ts'
import { limits } from '../../../src/model/index.ts'
import { documentWith, folder, problemsOf, readDocument, readValid } from './read-document.ts'

const sample = {
  $schema: './node_modules/evroute/dist/evroute.config.schema.json',
  listen: { host: '127.0.0.1', port: 4000 },
  admin: { port: 4001, token: 'env:EVROUTE_ADMIN_TOKEN' },
  store: 'sqlite:./evroute.db',
  network: { allow: ['127.0.0.0/8'] },
  sources: [{ id: 'website', writeKeys: ['wk_example'], enabled: true }],
  destinations: [
    {
      id: 'crm',
      type: 'Webhooks',
      sources: ['website'],
      enabled: true,
      endpoints: [{ url: 'http://127.0.0.1:4100/', headers: { 'X-Team': 'growth' } }],
      sharedSecret: 'env:CRM_SECRET',
    },
  ],
}

describe('a configuration', () => {
  test('is read unchanged, with its secrets', async () => {
    const env = { EVROUTE_ADMIN_TOKEN: 'admin-token-no-secret', CRM_SECRET: 'crm-no-secret' }
    const { configuration } = await readValid(sample, { env })
    expect(configuration).toMatchObject({
      listen: { host: '127.0.0.1', port: 4000 },
      admin: { port: 4001, token: 'admin-token-no-secret' },
      store: `sqlite:${folder}/evroute.db`,
      network: { allow: ['127.0.0.0/8'] },
      sources: [{ id: 'website', writeKeys: ['wk_example'], enabled: true }],
      destinations: [
        {
          id: 'crm',
          sourceIds: ['website'],
          enabled: true,
          endpoints: [{ url: 'http://127.0.0.1:4100/', headers: { 'X-Team': 'growth' } }],
          sharedSecret: 'crm-no-secret',
        },
      ],
    })
  })

  test('requires only a source; everything else has a default', async () => {
    const sources = [{ id: 'website', writeKeys: ['wk_example'] }]
    expect((await readValid({ sources })).configuration).toEqual({
      listen: { host: '127.0.0.1', port: 4000, trustedProxies: 0 },
      admin: undefined,
      store: `sqlite:${folder}/evroute.db`,
      tracing: null,
      senderThreads: null,
      network: { allow: [], proxy: null },
      retention: defaultRetention,
      sources: [
        {
          id: 'website',
          writeKeys: ['wk_example'],
          enabled: true,
          eventsPerSecond: undefined,
          archive: undefined,
        },
      ],
      destinations: [],
    })
  })

  test('uses the defaults of the rooms for destinations', async () => {
    const { configuration } = await readValid(documentWith({}))
    const endpoints = [{ url: 'https://example.com/hook' }]
    expect(configuration.destinations[0]).toEqual({
      ...checkDestination({ id: 'crm', sourceIds: ['website'], endpoints }),
      backlogMax: 1_000_000,
      standardWebhooks: undefined,
      retryForMs: limits.retryWindowMs,
    })
  })

  test('can set every setting', async () => {
    const document = documentWith({
      listen: { host: '0.0.0.0', port: 0, trustedProxies: 1 },
      store: 'memory:',
      retention: { delivered: '1h', failed: '7d', untried: '2d', messageIds: '90m' },
      limits: { backlogMax: 5_000, eventsPerSecond: 100 },
      source: { enabled: false, eventsPerSecond: 7, archive: { directory: 'archive' } },
      destination: {
        enabled: false,
        standardWebhooks: { secrets: ['new-no-secret', 'old-no-secret'] },
        aliasKeys: 'both',
        acceptsHistorical: false,
        concurrency: 3,
        backlogMax: 50,
        retryFor: '7d',
        filter: 'type:track',
        retryStatuses: [404, 401],
      },
    })
    expect((await readValid(document)).configuration).toMatchObject({
      listen: { host: '0.0.0.0', port: 0, trustedProxies: 1 },
      store: 'memory:',
      retention: {
        deliveredMs: 3_600_000,
        failedMs: 604_800_000,
        untriedMs: 172_800_000,
        messageIdsMs: 5_400_000,
      },
      sources: [
        { enabled: false, eventsPerSecond: 7, archive: { directory: `${folder}/archive` } },
      ],
      destinations: [
        {
          enabled: false,
          standardWebhooks: { secrets: ['new-no-secret', 'old-no-secret'] },
          aliasKeys: 'both',
          acceptsHistorical: false,
          concurrency: 3,
          backlogMax: 50,
          retryForMs: 604_800_000,
          filter: { text: 'type:track' },
          retryStatuses: [404, 401],
        },
      ],
    })
  })

  test('gives a source the shared rate unless it has its own', async () => {
    const general = { limits: { eventsPerSecond: 100 } }
    const own = await readValid(documentWith({ ...general, source: { eventsPerSecond: 7 } }))
    expect(own.configuration.sources[0]?.eventsPerSecond).toBe(7)
    const shared = await readValid(documentWith(general))
    expect(shared.configuration.sources[0]?.eventsPerSecond).toBe(100)
  })

  test('signs Standard Webhooks with the shared secret by default', async () => {
    const destination = { standardWebhooks: true, sharedSecret: 'crm-no-secret' }
    const { configuration } = await readValid(documentWith({ destination }))
    expect(configuration.destinations[0]?.standardWebhooks).toEqual({ secrets: ['crm-no-secret'] })
    expect(await problemsOf(documentWith({ destination: { standardWebhooks: true } }))).toEqual([
      'destinations[0].standardWebhooks: Cannot use true: there is no sharedSecret to sign the webhooks with',
    ])
  })

  test('is deeply frozen', async () => {
    const { configuration } = await readValid(documentWith({}))
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isFrozen))
    expect(isFrozen(configuration)).toBe(true)
  })

  test('may begin with a byte order mark', async () => {
    expect(await readDocument(`\ufeff${JSON.stringify(documentWith({}))}`)).toMatchObject({
      kind: 'valid',
    })
  })

  test('keeps absolute paths', async () => {
    const source = { archive: { directory: '/var/archive' } }
    const document = documentWith({ source, store: 'sqlite:/var/evroute.db' })
    expect((await readValid(document)).configuration).toMatchObject({
      store: 'sqlite:/var/evroute.db',
      sources: [{ archive: { directory: '/var/archive' } }],
    })
  })

  test('that cannot be read suggests the command that creates one', async () => {
    const { readConfiguration } = await import('../../../src/service/index.ts')
    const missing = Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
    const readFile = () => Promise.reject(missing)
    await expect(readConfiguration('nowhere.json', { env: {}, readFile })).rejects.toMatchObject({
      code: 'cannot_read_file',
      message: 'Cannot read nowhere.json: there is no such file',
      hint: 'Create one with `evroute init`, or name a different file.',
    })
    const folder = Object.assign(new Error('EISDIR: read'), { code: 'EISDIR' })
    await expect(
      readConfiguration('/srv', { env: {}, readFile: () => Promise.reject(folder) }),
    ).rejects.toMatchObject({
      message: 'Cannot read /srv: it is a folder',
      hint: 'Name a file in it, such as /srv/evroute.config.json.',
    })
    const denied = () => Promise.reject(new Error('EACCES: permission denied'))
    await expect(
      readConfiguration('closed.json', { env: {}, readFile: denied }),
    ).rejects.toMatchObject({
      message: 'Cannot read closed.json: EACCES: permission denied',
      hint: 'Check that it is a readable file.',
    })
  })

  test.each(['', '// A comment\n'])('is refused if a key is there twice: %j', async (comment) => {
    const text = `${comment}{"sources": [], "store": "sqlite:./a.db",\n "store": "memory:"}`
    const line = comment === '' ? 2 : 3
    expect(await problemsOf(text)).toEqual([
      `: Cannot read the file as JSON at line ${line}, column 2`,
    ])
  })

  test('that is not JSON is refused with the position and without any of its text', async () => {
    const text = '{\n  "admin": { "token": "no-secret" }\n  "store": "memory:"}'
    expect(await readDocument(text)).toEqual({
      kind: 'invalid',
      problems: [
        {
          path: '',
          message: 'Cannot read the file as JSON at line 3, column 3',
          hint: 'A comma may be missing before this point.',
        },
      ],
    })
  })

  test('may have comments and trailing commas', async () => {
    const text = JSON.stringify(documentWith({}), null, 2)
    const commented = text.replace(/\n\}$/, ', // the end\n}')
    expect(await readDocument(commented)).toEqual(await readDocument(text))
  })
})
