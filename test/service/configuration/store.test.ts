import { describe, expect, test } from 'vitest'
import { changesBetween } from '../../../src/service/index.ts'
import { documentWith, folder, problemsOf, readDocument, readValid } from './read-document.ts'

const url =
  'postgres://evroute:hedgehog@db.example.com:5432/events?sslmode=require&password=hedgehog'
const masked =
  'postgres://evroute:********@db.example.com:5432/events?sslmode=require&password=********'

const storeOf = (store: string): object => documentWith({ store })

describe('the store setting', () => {
  test.each([
    ['as it stands', url, { origin: 'file' }],
    ['from a variable', 'env:STORE', { env: { STORE: url }, origin: 'env:STORE' }],
    [
      'from a file',
      '@keys/store',
      { files: { [`${folder}/keys/store`]: `${url}\n` }, origin: '@keys/store' },
    ],
  ])(
    'accepts PostgreSQL %s, and never shows the password',
    async (_name, store, { origin, ...around }) => {
      const { configuration, settings } = await readValid(storeOf(store), around)
      expect(configuration.store).toBe(url)
      expect(settings).toContainEqual({ path: 'store', value: masked, origin })
      expect(JSON.stringify(settings)).not.toContain('hedgehog')
    },
  )

  test('accepts a reference for any engine, with a file relative to the configuration', async () => {
    const env = { FILE: 'sqlite:./data/evroute.db', MEMORY: 'memory:' }
    const file = await readValid(storeOf('env:FILE'), { env })
    expect(file.configuration.store).toBe(`sqlite:${folder}/data/evroute.db`)
    expect(file.settings).toContainEqual({
      path: 'store',
      value: `sqlite:${folder}/data/evroute.db`,
      origin: 'env:FILE',
    })
    const memory = await readValid(storeOf('env:MEMORY'), { env })
    expect(memory.configuration.store).toBe('memory:')
  })

  test('reports a reference that cannot be read', async () => {
    expect(await problemsOf(storeOf('env:STORE'))).toEqual([
      'store: Cannot read the environment variable STORE: it is not set',
    ])
  })

  test.each([
    [
      'postgres://evroute:hedgehog@db.example.com/events?sslmode=requre',
      'Cannot use this URL: its sslmode must be one of',
    ],
    [
      'postgres://evroute:hedge/hog@db.example.com/events',
      'Cannot use this URL: it has a character',
    ],
    ['mysql://evroute:hedgehog@db.example.com/events', 'Cannot use this value: it must be memory:'],
    ['postgres:hedgehog', 'Cannot use this value: it must be memory:'],
    ['hedgehog', 'Cannot use this value: it must be memory:'],
  ])('refuses %s without showing it', async (store, problem) => {
    for (const [given, env] of [
      [store, {}],
      ['env:STORE', { STORE: store }],
    ] as const) {
      const outcome = await readDocument(storeOf(given), { env })
      expect(outcome).toMatchObject({
        problems: [{ path: 'store', message: expect.stringContaining(problem) as string }],
      })
      expect(JSON.stringify(outcome)).not.toMatch(/hedge|hog/)
    }
  })

  test('reports a changed password as requiring a restart, without showing either', async () => {
    const before = await readValid(storeOf(url))
    const after = await readValid(storeOf(url.replaceAll('hedgehog', 'badger')))
    const changes = changesBetween(before.configuration, after.configuration)
    expect(changes).toEqual([{ setting: 'store', kind: 'changed', effect: 'after_restart' }])
  })
})
