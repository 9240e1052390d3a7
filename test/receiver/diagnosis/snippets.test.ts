import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isSnippetLanguage, snippetLanguages, snippets } from '../../../src/receiver/index.ts'
import { signBody } from '../../../src/webhook/index.ts'
import { canRun, runHandler } from './handlers.ts'

const secret = 'not-a-real-sécret'
/** JSON that every language would change by parsing and writing it. */
const body = '{ "type":"track", "b":1.0, "2":"é\\u00e9/<", "1":12345678901234567890 }\n'
const right = signBody(body, secret)

test.each(snippetLanguages)('there is a snippet for %s', (language) => {
  expect(isSnippetLanguage(language)).toBe(true)
  expect(snippets[language]).toMatch(/[^\n]\n$/)
  expect(snippets[language]).toContain('WEBHOOK_SECRET')
})

test('an unknown language has no snippet', () => {
  expect(['cobol', '', 'toString'].filter(isSnippetLanguage)).toEqual([])
})

describe.each(snippetLanguages)('the handler for %s', (language) => {
  test.skipIf(!canRun(language))('accepts the right signature and refuses all others', async () => {
    const url = await runHandler(language, secret)
    const post = async (given: string, signature?: string): Promise<number> => {
      const headers = {
        'content-type': 'application/json',
        ...(signature === undefined ? {} : { 'x-signature': signature }),
      }
      const response = await fetch(url, { method: 'POST', body: given, headers })
      await response.text()
      return response.status
    }
    expect(await post(body, right)).toBe(200)
    const refused = [
      await post(body),
      await post(body, ''),
      await post(body, signBody(body, 'not-a-real-secret')),
      await post(body, right.toUpperCase()),
      await post(body, 'z'.repeat(40)),
      await post(body, `sha1=${right}`),
      await post(body.trimEnd(), right),
      await post('', right),
    ]
    expect(refused).toEqual(refused.map(() => 401))
    const large = JSON.stringify({ type: 'page', name: 'x'.repeat(200_000) })
    expect(await post(large, signBody(large, secret))).toBe(200)
  })

  test.skipIf(!canRun(language))('keeps running when a request is cut off', async () => {
    const url = await runHandler(language, secret)
    await cutOffRequest(url)
    const { status } = await fetch(url, { method: 'POST', body, headers: { 'x-signature': right } })
    expect(status).toBe(200)
  })
})

/** Sends half of a request and closes the connection. */
async function cutOffRequest(url: string): Promise<void> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(`POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 9\r\n\r\nhalf`)
  socket.resume()
  await once(socket, 'close')
}

/** PHP has no start-up phase in which it could refuse to start. */
const starting = snippetLanguages.filter((language) => language !== 'php')

test.each(starting)('the handler for %s refuses to start without a secret', async (language) => {
  if (!canRun(language)) return
  await expect(runHandler(language, '')).rejects.toThrow('Set WEBHOOK_SECRET to the shared secret')
})
