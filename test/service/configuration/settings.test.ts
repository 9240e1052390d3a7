import { expect, test } from 'vitest'
import { documentWith, folder, readValid } from './read-document.ts'

test('every effective setting is listed once, with its origin', async () => {
  const document = documentWith({
    $schema: './schema.json',
    listen: { port: 0 },
    network: { allow: ['10.0.0.0/8', '127.0.0.1'] },
    source: { archive: { directory: 'archive' } },
    destination: { endpoints: [{ url: 'https://example.com/', headers: {} }], sharedSecret: null },
  })
  const { settings } = await readValid(document)
  expect(settings.map(({ path, value, origin }) => [path, value, origin])).toEqual([
    ['listen.host', '127.0.0.1', 'default'],
    ['listen.port', 0, 'file'],
    ['listen.trustedProxies', 0, 'default'],
    ['admin', null, 'default'],
    ['store', `sqlite:${folder}/evroute.db`, 'default'],
    ['tracing', null, 'default'],
    ['senderThreads', null, 'default'],
    ['network.allow', ['10.0.0.0/8', '127.0.0.1'], 'file'],
    ['network.proxy', null, 'default'],
    ['retention.delivered', '24h', 'default'],
    ['retention.failed', '30d', 'default'],
    ['retention.untried', '30d', 'default'],
    ['retention.messageIds', '24h', 'default'],
    ['limits.backlogMax', 1_000_000, 'default'],
    ['limits.eventsPerSecond', null, 'default'],
    ['sources[0].id', 'website', 'file'],
    ['sources[0].writeKeys[0]', '********', 'file'],
    ['sources[0].type', null, 'default'],
    ['sources[0].enabled', true, 'default'],
    ['sources[0].eventsPerSecond', null, 'default'],
    ['sources[0].archive.directory', `${folder}/archive`, 'file'],
    ['destinations[0].id', 'crm', 'file'],
    ['destinations[0].type', 'Webhooks', 'file'],
    ['destinations[0].sources', ['website'], 'file'],
    ['destinations[0].enabled', true, 'default'],
    ['destinations[0].endpoints[0].url', 'https://example.com/', 'file'],
    ['destinations[0].endpoints[0].headers', {}, 'file'],
    ['destinations[0].sharedSecret', null, 'file'],
    ['destinations[0].standardWebhooks', false, 'default'],
    ['destinations[0].aliasKeys', 'spec', 'default'],
    ['destinations[0].acceptsHistorical', true, 'default'],
    ['destinations[0].filter', null, 'default'],
    ['destinations[0].concurrency', 10, 'default'],
    ['destinations[0].backlogMax', null, 'default'],
    ['destinations[0].retryFor', '4h', 'default'],
    ['destinations[0].retryStatuses', [], 'default'],
  ])
})
