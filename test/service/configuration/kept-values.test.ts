import { describe, expect, test } from 'vitest'
import { hiddenEndpoint } from '../../../src/model/index.ts'
import { documentWith, problemsOf, readDocument, readValid } from './read-document.ts'

const url = 'https://example.com/hook'

describe('a value that may be secret', () => {
  test('is not shown when it is invalid', async () => {
    const secret = 'no secret\u0000'
    const document = documentWith({
      admin: { token: secret },
      source: { writeKeys: [secret] },
      destination: {
        endpoints: [{ url, headers: { Authorization: secret } }],
        standardWebhooks: { secrets: [{ secret }] },
        sharedSecret: { secret },
      },
    })
    const outcome = await readDocument(document)
    expect(outcome).toMatchObject({ kind: 'invalid', problems: { length: 5 } })
    expect(JSON.stringify(outcome)).not.toContain('no secret')
  })

  test.each<[string, object]>([
    ['admin', { admin: 'no-secret' }],
    ['sources', { sources: 'no-secret' }],
    ['sources[0]', { sources: ['no-secret'] }],
    ['sources[0].writeKeys', documentWith({ source: { writeKeys: 'no-secret' } })],
    ['sources[0].writeKeys', documentWith({ source: { writeKeys: 1_234_567 } })],
    ['destinations', documentWith({ destinations: 'no-secret' })],
    ['destinations[0]', documentWith({ destinations: ['no-secret'] })],
    ['destinations[0].standardWebhooks', destinationWith({ standardWebhooks: 'no-secret' })],
    [
      'destinations[0].standardWebhooks.secrets',
      destinationWith({ standardWebhooks: { secrets: 'no-secret' } }),
    ],
    ['destinations[0].endpoints', destinationWith({ endpoints: 'no-secret' })],
    ['destinations[0].endpoints[0]', destinationWith({ endpoints: ['no-secret'] })],
    [
      'destinations[0].endpoints[0].headers',
      destinationWith({ endpoints: [{ url, headers: 'no-secret' }] }),
    ],
  ])('is not shown if it stands in place of %s', async (path, document) => {
    const problems = await problemsOf(document)
    expect(problems).toContainEqual(
      expect.stringContaining(`${path}: Cannot use this value: it must be`),
    )
    expect(problems.join('\n')).not.toMatch(/no-secret|1234567/)
  })

  test('is not shown if it stands in place of the whole document', async () => {
    expect(await problemsOf('"no-secret"')).toEqual([
      ': Cannot use this value: it must be an object with "sources" and "destinations"',
    ])
  })
})

describe('the query of a URL', () => {
  test.each([
    ['a URL that is listed twice', [`${url}?t=no-secret`, `${url}?t=no-secret`]],
    ['a different scheme', ['ftp://example.com?t=no-secret']],
    ['no scheme', ['example.com?t=no-secret']],
    ['a password', ['https://user:no-secret@example.com/']],
    ['a private address', ['http://10.0.0.5/?t=no-secret']],
  ])('appears in no problem: %s', async (_name, urls) => {
    const document = destinationWith({ endpoints: urls.map((each) => ({ url: each })) })
    const outcome = await readDocument(document)
    expect(outcome.kind).toBe('invalid')
    expect(JSON.stringify(outcome)).not.toContain('no-secret')
  })

  test('is hidden in the listed settings, but sent', async () => {
    const endpoints = [{ url: `${url}?t=no-secret` }, { url }]
    const { settings, configuration } = await readValid(destinationWith({ endpoints }))
    expect(settings.filter(({ path }) => path.endsWith('.url'))).toMatchObject([
      { value: hiddenEndpoint(`${url}?t=no-secret`) },
      { value: hiddenEndpoint(url) },
    ])
    expect(configuration.destinations[0]?.endpoints).toMatchObject(endpoints)
  })
})

describe('a consequence of another problem', () => {
  test.each([
    ['sources of the wrong type', { sources: { website: [] } }, ['sources']],
    ['no sources', { sources: [] }, ['sources']],
    [
      'a source without an id',
      { sources: [{ id: 'shop', writeKeys: ['wk_a'] }, { writeKeys: ['wk_b'] }] },
      ['sources[1].id'],
    ],
  ])('is not reported: %s', async (_name, given, paths) => {
    const problems = await problemsOf(documentWith(given))
    expect(problems.map((problem) => problem.split(': ')[0])).toEqual(paths)
  })

  test('is reported if it can be checked independently', async () => {
    const document = destinationWith({ sources: ['shop'] })
    expect(await readDocument(document)).toMatchObject({
      problems: [{ path: 'destinations[0].sources[0]', hint: 'The sources are website.' }],
    })
  })
})

function destinationWith(destination: object): object {
  return documentWith({ destination })
}
