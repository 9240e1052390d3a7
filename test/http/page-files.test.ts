import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { expect, onTestFinished, test } from 'vitest'
import { listen, PageFiles } from '../../src/http/index.ts'

test('a page is served once its files can be read', async () => {
  const page = new PageFiles('index.html')
  const listening = await listen(
    (_request, response) =>
      void page.send(response, '').then((isSent) => {
        if (!isSent) response.writeHead(404).end()
      }),
    { host: '127.0.0.1', port: 0 },
  )
  onTestFinished(() => listening.close(0))
  const status = async () => (await fetch(listening.url)).status
  const { readdir } = files
  const restore = () => {
    files.readdir = readdir
    syncBuiltinESMExports()
  }
  onTestFinished(restore)
  const fails = () => Promise.reject(new Error('EMFILE: too many open files'))
  files.readdir = fails
  syncBuiltinESMExports()
  expect(await status()).toBe(404)
  restore()
  expect(await status()).toBe(200)
})
