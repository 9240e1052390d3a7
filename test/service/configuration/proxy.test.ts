import { expect, test } from 'vitest'
import { documentWith, folder, problemsOf, readValid } from './read-document.ts'

const proxy = 'http://evroute:no-secret@proxy.example.com:3128'

const accepted =
  'network.proxy: Cannot use this value: it must be an http or https URL without a path, such as ' +
  'http://user:password@proxy.example.com:3128, given as a value, env:NAME or @file, or null'

test.each([
  ['itself', proxy, {}],
  ['a variable', 'env:PROXY', { env: { PROXY: proxy } }],
  ['a file', '@proxy', { files: { [`${folder}/proxy`]: `${proxy}\n` } }],
])('the proxy URL is read from %s, and shown without its credentials', async (_, value, from) => {
  const given = documentWith({ network: { proxy: value } })
  const { configuration, settings } = await readValid(given, from)
  expect(configuration.network.proxy).toBe(proxy)
  expect(settings.find(({ path }) => path === 'network.proxy')).toEqual({
    path: 'network.proxy',
    value: 'http://********@proxy.example.com:3128',
    origin: value === proxy ? 'file' : value,
  })
})

test.each([
  'no-secret',
  'socks5://no-secret@proxy.example.com',
  'http://proxy.example.com/no-secret',
  'http://proxy.example.com?no-secret',
  'http://proxy.example.com#no-secret',
  'http://no-secret%@proxy.example.com',
  '',
  1_234_567,
])('%j is refused as a proxy URL without being shown', async (value) => {
  expect(await problemsOf(documentWith({ network: { proxy: value } }))).toEqual([accepted])
})
