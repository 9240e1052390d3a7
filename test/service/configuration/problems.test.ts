import { describe, expect, test } from 'vitest'
import { EvrouteError } from '../../../src/model/index.ts'
import { ConfigurationError, problemText } from '../../../src/service/index.ts'
import { documentWith, problemsOf, readDocument } from './read-document.ts'

const endpoint = { url: 'https://example.com/hook' }
const wholeNumber = 'it must be a whole number from 0 to 65535'

describe('the problems of a configuration', () => {
  test.each<[string, unknown, string]>([
    [
      'a filter that cannot be read',
      documentWith({ destination: { filter: 'type:track properties.revenue>10' } }),
      'destinations[0].filter: Cannot read the match expression at character 30: a colon is missing before this',
    ],
    [
      'a filter by fields of a request',
      documentWith({ destination: { filter: 'type:track -status:5xx' } }),
      'destinations[0].filter: Cannot read the match expression at character 12: an event has no status',
    ],
    [
      'a filter that is not a text',
      documentWith({ destination: { filter: ['type:track'] } }),
      'destinations[0].filter: Cannot use a list of length 1: it must be a match such as "type:track properties.revenue:>10", or null for every call',
    ],
    [
      'a document that is not an object',
      [],
      ': Cannot use an empty list: it must be an object with "sources" and "destinations"',
    ],
    [
      'no sources',
      { sources: [] },
      'sources: Cannot use an empty list: it must be a list of at least one source',
    ],
    [
      'a port that is too high',
      documentWith({ listen: { port: 65_536 } }),
      `listen.port: Cannot use 65536: ${wholeNumber}`,
    ],
    [
      'a port that is not a whole number',
      documentWith({ listen: { port: 0.5 } }),
      `listen.port: Cannot use 0.5: ${wholeNumber}`,
    ],
    [
      'a port in quotes',
      documentWith({ listen: { port: '4000' } }),
      `listen.port: Cannot use "4000": ${wholeNumber}`,
    ],
    [
      'an empty host',
      documentWith({ listen: { host: '' } }),
      'listen.host: Cannot use "": it must be an address or name of this machine, such as 127.0.0.1',
    ],
    [
      'an unknown kind of store',
      documentWith({ store: 'mysql://x' }),
      'store: Cannot use this value: it must be memory:, sqlite:<file> such as sqlite:./evroute.db, or postgres://user:password@host:5432/database, given as a value, env:NAME or @file',
    ],
    [
      'a store URL that only looks like an in-memory store',
      documentWith({ store: 'sqlite::memory:' }),
      'store: Cannot use this value: it must be memory:, sqlite:<file> such as sqlite:./evroute.db, or postgres://user:password@host:5432/database, given as a value, env:NAME or @file',
    ],
    [
      'a folder as the store',
      documentWith({ store: 'sqlite:./data/' }),
      'store: Cannot use this value: it must be memory:, sqlite:<file> such as sqlite:./evroute.db, or postgres://user:password@host:5432/database, given as a value, env:NAME or @file',
    ],
    [
      'an admin API without a token',
      documentWith({ admin: {} }),
      'admin.token: Cannot be left out: it must be a bearer token of letters, digits and . _ ~ + / -, given as a value, env:NAME or @file',
    ],
    [
      'a metrics token that is too short',
      documentWith({ admin: { token: 'not-a-real-token', metricsToken: 'short' } }),
      'admin.metricsToken: Cannot use this value: it has fewer than 16 characters',
    ],
    [
      'a metrics token that equals the admin token',
      documentWith({ admin: { token: 'not-a-real-token', metricsToken: 'not-a-real-token' } }),
      'admin.metricsToken: Cannot use this value: admin.token has the same value',
    ],
    [
      'an admin token that is too short',
      documentWith({ admin: { token: 'fifteen-letters' } }),
      'admin.token: Cannot use this value: it has fewer than 16 characters',
    ],
    [
      'the same port twice',
      documentWith({ listen: { port: 4_001 }, admin: { token: 'not-a-real-token' } }),
      'admin.port: Cannot use 4001: listen.port has the same value',
    ],
    [
      'the default port of listen as the admin port',
      documentWith({ admin: { port: 4_000, token: 'not-a-real-token' } }),
      'admin.port: Cannot use 4000: listen.port has the same value',
    ],
    [
      'an invalid range of addresses',
      documentWith({ network: { allow: ['10.0.0.0/8', '10.0.0.0/33'] } }),
      'network.allow[1]: Cannot allow "10.0.0.0/33": it is not an address, a range or a host name',
    ],
    [
      'an invalid duration',
      documentWith({ retention: { failed: '1 week' } }),
      'retention.failed: Cannot use "1 week": it must be a duration such as 90s, 4h or 30d, from 1m to 3650d',
    ],
    [
      'a duration that is too short',
      documentWith({ retention: { messageIds: '59s' } }),
      'retention.messageIds: Cannot use "59s": it must be a duration such as 90s, 4h or 30d, from 1m to 3650d',
    ],
    [
      'a backlog of 0',
      documentWith({ limits: { backlogMax: 0 } }),
      'limits.backlogMax: Cannot use 0: it must be a whole number from 1 to 1000000000',
    ],
    [
      'a setting that only earlier versions had',
      documentWith({ limits: { pendingDeliveries: 1 } }),
      'limits.pendingDeliveries: Cannot use this key: there is no such setting',
    ],
    [
      'an id with a slash',
      documentWith({ source: { id: '../website' }, destination: { sources: ['website'] } }),
      'sources[0].id: Cannot use "../website": it must be 1 to 64 letters, digits, "." "_" and "-", beginning with a letter or digit',
    ],
    [
      'an id that is too long',
      documentWith({ destination: { id: 'x'.repeat(65) } }),
      `destinations[0].id: Cannot use "${'x'.repeat(58)}…: it must be 1 to 64 letters, digits, "." "_" and "-", beginning with a letter or digit`,
    ],
    [
      'a source without write keys',
      documentWith({ source: { writeKeys: [] } }),
      'sources[0].writeKeys: Cannot use an empty list: it must be a list of at least one write key',
    ],
    [
      'an archive of the wrong type',
      documentWith({ source: { archive: 'archive' } }),
      'sources[0].archive: Cannot use "archive": it must be an object with "directory"',
    ],
    [
      'an unknown type of destination',
      documentWith({ destination: { type: 'webhooks' } }),
      'destinations[0].type: Cannot use "webhooks": it must be "Webhooks"',
    ],
    [
      'a source that does not exist',
      documentWith({ destination: { sources: ['website', 'web'] } }),
      'destinations[0].sources[1]: Cannot take events from "web": there is no source with this id',
    ],
    [
      'a source that is listed twice',
      documentWith({ destination: { sources: ['website', 'website'] } }),
      'destinations[0].sources[1]: Cannot use this a second time: the source is listed twice',
    ],
    [
      'no endpoint',
      documentWith({ destination: { endpoints: [] } }),
      'destinations[0].endpoints: Cannot use an empty list: it must be a list of 1 to 5 endpoints',
    ],
    [
      'six endpoints',
      documentWith({ destination: { endpoints: Array(6).fill(endpoint) } }),
      'destinations[0].endpoints: Cannot use a list of length 6: it must be a list of 1 to 5 endpoints',
    ],
    [
      'an endpoint that is listed twice',
      documentWith({ destination: { endpoints: [endpoint, endpoint] } }),
      'destinations[0].endpoints: Cannot list https://example.com/…#19f135 twice: each endpoint must have a different URL',
    ],
    [
      'a URL without a scheme',
      documentWith({ destination: { endpoints: [endpoint, { url: 'example.com' }] } }),
      'destinations[0].endpoints[1].url: Cannot send to this: it is not a full http or https URL',
    ],
    [
      'a URL with a different scheme, without quoting it',
      documentWith({ destination: { endpoints: [{ url: 'wss://example.com/not-a-real-token' }] } }),
      'destinations[0].endpoints[0].url: Cannot send to this: it is not a full http or https URL',
    ],
    [
      'a private address',
      documentWith({ destination: { endpoints: [{ url: 'http://10.0.0.5/' }] } }),
      'destinations[0].endpoints[0].url: Cannot send to 10.0.0.5: it is a private address (10.0.0.0/8). To allow this host, add it to network.allow',
    ],
    [
      'a reserved header',
      documentWith({
        destination: {
          endpoints: [{ ...endpoint, headers: { 'X-Team': 'growth', 'x-signature': '0' } }],
        },
      }),
      'destinations[0].endpoints[0].headers["x-signature"]: Cannot send a static header x-signature: evroute or the connection sets it',
    ],
    [
      'a header that differs only in case',
      documentWith({
        destination: { endpoints: [{ ...endpoint, headers: { 'x-team': 'a', 'X-Team': 'b' } }] },
      }),
      'destinations[0].endpoints[0].headers["X-Team"]: Cannot send a header twice: x-team is the same header',
    ],
    [
      'a header that is a number',
      documentWith({ destination: { endpoints: [{ ...endpoint, headers: { 'X-Team': 1 } }] } }),
      'destinations[0].endpoints[0].headers["X-Team"]: Cannot use this value: it must be a string, given as a value, env:NAME or @file',
    ],
    [
      'an empty secret',
      documentWith({ destination: { sharedSecret: '' } }),
      'destinations[0].sharedSecret: Cannot use this value: it must be a string that is not empty, given as a value, env:NAME or @file, or null to send without X-Signature',
    ],
    [
      'a signing secret that is too short',
      documentWith({ destination: { standardWebhooks: { secrets: ['whsec_c2hvcnQ='] } } }),
      'destinations[0].standardWebhooks.secrets[0]: Cannot use this value: it must be a string, or whsec_ and the base64 of 24 to 64 bytes, given as a value, env:NAME or @file',
    ],
    [
      'a signing secret that is a number',
      documentWith({ destination: { standardWebhooks: { secrets: ['a', 7] } } }),
      'destinations[0].standardWebhooks.secrets[1]: Cannot use this value: it must be a string, or whsec_ and the base64 of 24 to 64 bytes, given as a value, env:NAME or @file',
    ],
    [
      'an unknown key beside signing secrets',
      documentWith({ destination: { standardWebhooks: { secrets: [7], secret: 'a' } } }),
      'destinations[0].standardWebhooks.secret: Cannot use this key: there is no such setting',
    ],
    [
      'endpoints that are not in a list, without showing them',
      documentWith({ destination: { endpoints: { headers: { Authorization: 'no-secret' } } } }),
      'destinations[0].endpoints: Cannot use an object: it must be a list of 1 to 5 endpoints',
    ],
    [
      'signing secrets that are not inside an object',
      documentWith({ destination: { standardWebhooks: ['a'] } }),
      'destinations[0].standardWebhooks: Cannot use a list of length 1: it must be true, false or an object with "secrets"',
    ],
    [
      'unknown alias keys',
      documentWith({ destination: { aliasKeys: 'Camel' } }),
      'destinations[0].aliasKeys: Cannot use "Camel": it must be "spec", "camel" or "both"',
    ],
    [
      'a retry window of more than 30 days',
      documentWith({ destination: { retryFor: '30.1d' } }),
      'destinations[0].retryFor: Cannot use "30.1d": it must be a duration such as 90s, 4h or 30d, from 0s to 30d',
    ],
    [
      'a redirect among the retry statuses',
      documentWith({ destination: { retryStatuses: [404, 302] } }),
      'destinations[0].retryStatuses[1]: Cannot use 302: it must be a status from 400 to 499: 5xx are retried anyway, redirects never',
    ],
    [
      'retry statuses that are not a list',
      documentWith({ destination: { retryStatuses: 404 } }),
      'destinations[0].retryStatuses: Cannot use 404: it must be a list of statuses from 400 to 499',
    ],
    [
      'a rate without its unit',
      documentWith({ destination: { endpoints: [{ url: 'https://example.com/', rate: '50' }] } }),
      'destinations[0].endpoints[0].rate: Cannot use "50": it must be a rate such as 50/s, 300/m or 1000/h, up to 100000/s',
    ],
    [
      'a concurrency that is too high',
      documentWith({ destination: { concurrency: 1_001 } }),
      'destinations[0].concurrency: Cannot use 1001: it must be a whole number from 1 to 1000',
    ],
    [
      'a flag in quotes',
      documentWith({ destination: { acceptsHistorical: 'false' } }),
      'destinations[0].acceptsHistorical: Cannot use "false": it must be true or false',
    ],
  ])('name %s', async (_name, document, problem) => {
    expect(await problemsOf(document)).toContain(problem)
  })

  test('point at the repeated occurrence of an id or write key', async () => {
    const { sources, destinations } = documentWith({}) as Record<string, readonly object[]>
    const document = {
      sources: [...sources!, { id: 'website', writeKeys: ['wk_other', 'env:KEY'] }],
      destinations: [...destinations!, ...destinations!],
    }
    expect(await problemsOf(document, { env: { KEY: 'wk_example' } })).toEqual([
      'destinations[1].id: Cannot use this a second time: a different destination already has this id',
      'sources[1].id: Cannot use this a second time: a different source already has this id',
      'sources[1].writeKeys[1]: Cannot use this a second time: it already identifies a source',
    ])
  })

  test('are all reported at once, each path once and in order', async () => {
    const document = documentWith({
      listen: { port: -1, hots: '::1' },
      admin: { token: 'env:MISSING' },
      source: { writeKeys: ['two words', 7] },
      destination: {
        endpoints: [
          { url: 'ftp://example.com' },
          { url: 'https://example.com', headers: { Host: 'a' } },
        ],
        sources: ['shop'],
        sharedSecert: 'a',
      },
    })
    const paths = (await problemsOf(document)).map((problem) => problem.split(': ')[0])
    expect(paths).toEqual([
      'admin.token',
      'destinations[0].endpoints[0].url',
      'destinations[0].endpoints[1].headers.Host',
      'destinations[0].sharedSecert',
      'destinations[0].sources[0]',
      'listen.hots',
      'listen.port',
      'sources[0].writeKeys[0]',
      'sources[0].writeKeys[1]',
    ])
  })

  test('sort list entries by number', async () => {
    const sources = Array.from({ length: 11 }, (_, index) => ({ id: `s${index}`, writeKeys: [] }))
    const paths = (await problemsOf({ sources })).map((problem) => problem.split(': ')[0])
    expect(paths.slice(1, 4)).toEqual([
      'sources[1].writeKeys',
      'sources[2].writeKeys',
      'sources[3].writeKeys',
    ])
    expect(paths.at(-1)).toBe('sources[10].writeKeys')
  })

  test('report an unknown key, and suggest the similar one', async () => {
    const outcome = await readDocument(
      documentWith({
        destination: { sharedSecert: 'a', colour: 'red' },
        admin: { token: 'not-a-real-token', prot: 1 },
      }),
    )
    expect(outcome).toMatchObject({
      problems: [
        { path: 'admin.prot', hint: 'Did you mean "port"?' },
        {
          path: 'destinations[0].colour',
          message: 'Cannot use this key: there is no such setting',
          hint: expect.stringMatching(/^The settings here are id, type, sources, .*\.$/) as string,
        },
        { path: 'destinations[0].sharedSecert', hint: 'Did you mean "sharedSecret"?' },
      ],
    })
  })

  test('report __proto__ like any other unknown key', async () => {
    const text = `{ "__proto__": { "sources": [] }, "sources": [{ "id": "a", "writeKeys": ["k"] }] }`
    expect(await problemsOf(text)).toEqual([
      '__proto__: Cannot use this key: there is no such setting',
    ])
  })

  test('leave out address checks while network.allow is invalid', async () => {
    const document = documentWith({
      network: { allow: ['127.0.0.0/88'] },
      destination: { endpoints: [{ url: 'http://127.0.0.1/' }] },
    })
    expect(await problemsOf(document)).toEqual([
      'network.allow[0]: Cannot allow "127.0.0.0/88": it is not an address, a range or a host name',
    ])
  })
})

describe('ConfigurationError', () => {
  test('lists all problems in lines that are safe to print', () => {
    const error = new ConfigurationError('evroute.config.json', [
      { path: 'a["\u001b[2J"]', message: 'Cannot use this', hint: 'Write that.' },
      { path: '', message: 'Cannot use it', hint: undefined },
    ])
    expect(error).toBeInstanceOf(EvrouteError)
    expect(error.code).toBe('invalid_setting')
    expect(error.message).toBe(
      'Cannot use evroute.config.json: 2 settings are wrong\n  a[""]: Cannot use this. Write that.\n  Cannot use it',
    )
    expect(new ConfigurationError('a.json', error.problems.slice(1)).message).toContain(
      '1 setting is wrong',
    )
    expect(problemText(error.problems[0]!)).not.toContain('\u001b')
  })
})
