import { describe, expect, test } from 'vitest'
import { documentWith, folder, problemsOf, readDocument, readValid } from './read-document.ts'

const everywhere = (text: string): object =>
  documentWith({
    admin: { token: text },
    source: { writeKeys: [text] },
    destination: {
      endpoints: [{ url: 'https://example.com/hook', headers: { Authorization: text } }],
      sharedSecret: text,
      standardWebhooks: { secrets: [text] },
    },
  })

const secretPaths = [
  'admin.token',
  'destinations[0].endpoints[0].headers.Authorization',
  'destinations[0].sharedSecret',
  'destinations[0].standardWebhooks.secrets[0]',
  'sources[0].writeKeys[0]',
]

describe('secrets', () => {
  test.each([
    ['as they stand', 'long-but-no-secret', {}],
    ['from a variable', 'env:NAME', { env: { NAME: 'long-but-no-secret' } }],
    [
      'from a file beside the configuration',
      '@keys/a',
      { files: { [`${folder}/keys/a`]: 'long-but-no-secret\n' } },
    ],
    ['from a file elsewhere', '@/run/a', { files: { '/run/a': 'long-but-no-secret\r\n' } }],
  ])('are read %s', async (_name, text, references) => {
    const { configuration } = await readValid(everywhere(text), references)
    expect(configuration).toMatchObject({
      admin: { token: 'long-but-no-secret' },
      sources: [{ writeKeys: ['long-but-no-secret'] }],
      destinations: [
        {
          endpoints: [{ headers: { Authorization: 'long-but-no-secret' } }],
          sharedSecret: 'long-but-no-secret',
          standardWebhooks: { secrets: ['long-but-no-secret'] },
        },
      ],
    })
  })

  test('list their origin, and are never shown', async () => {
    const outcome = await readValid(
      documentWith({
        admin: { token: 'env:TOKEN' },
        source: { writeKeys: ['wk_example', '@key'] },
        destination: { sharedSecret: 'crm-no-secret' },
      }),
      { env: { TOKEN: 'admin-token-no-secret' }, files: { [`${folder}/key`]: 'wk_other' } },
    )
    const secrets = outcome.settings.filter(({ value }) => value === '********')
    expect(secrets.map(({ path, origin }) => [path, origin])).toEqual([
      ['admin.token', 'env:TOKEN'],
      ['sources[0].writeKeys[0]', 'file'],
      ['sources[0].writeKeys[1]', '@key'],
      ['destinations[0].sharedSecret', 'file'],
    ])
    expect(JSON.stringify(outcome.settings)).not.toMatch(/no-secret|wk_/)
  })

  test.each([
    ['env:NAME', {}, 'Cannot read the environment variable NAME: it is not set'],
    ['env:NAME', { env: { NAME: '' } }, 'Cannot read the environment variable NAME: it is empty'],
    ['@key', {}, 'Cannot read the file key: there is no such file'],
    ['@key', { files: { [`${folder}/key`]: '\n' } }, 'Cannot read the file key: it is empty'],
  ])(
    'that cannot be read from %s are reported at every path',
    async (text, references, message) => {
      expect(await problemsOf(everywhere(text), references)).toEqual(
        secretPaths.map((path) => `${path}: ${message}`),
      )
    },
  )

  test('are validated after reading: a file may hold characters that a header cannot carry', async () => {
    const references = { files: { [`${folder}/key`]: 'two\nlines' } }
    const problems = await problemsOf(everywhere('@key'), references)
    expect(problems).toContain(
      'destinations[0].endpoints[0].headers.Authorization: Cannot send the header Authorization: its value has characters that a header cannot carry',
    )
    expect(problems.join()).not.toContain('lines')
  })

  test('are resolved only in settings that accept references', async () => {
    const url = 'https://example.com/@file'
    const document = documentWith({ destination: { endpoints: [{ url }] }, store: 'sqlite:@file' })
    expect(await readDocument(document)).toMatchObject({
      configuration: { store: `sqlite:${folder}/@file`, destinations: [{ endpoints: [{ url }] }] },
    })
  })
})
