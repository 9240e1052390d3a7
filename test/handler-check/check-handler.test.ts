import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkHandler } from '../../src/handler-check/index.ts'
import { isSnippetLanguage, snippetLanguages } from '../../src/receiver/index.ts'
import { canRun, runHandler } from '../receiver/diagnosis/handlers.ts'
import { startReceiver } from '../../src/testing/index.ts'
import { signBody } from '../../src/webhook/index.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { correct, secret, startHandler } from './handlers.ts'
import { wrongHandlers } from './wrong-handlers.ts'

describe('a correct handler', () => {
  test('of node:http is right in every case', async () => {
    const url = await startHandler(correct)
    const { isRight, hasAnswered, findings, verdicts } = await checkHandler({ url, secret })
    expect(verdicts.filter((verdict) => !verdict.isRight)).toEqual([])
    expect({ isRight, hasAnswered, findings }).toEqual({
      isRight: true,
      hasAnswered: true,
      findings: [],
    })
    const expected = verdicts.map((verdict) => verdict.expected)
    expect(expected.filter((each) => each === 'taken').length).toBeGreaterThanOrEqual(12)
    expect(expected.filter((each) => each === 'refused').length).toBeGreaterThanOrEqual(12)
  })

  test('that decodes chunks with setEncoding is right in every case', async () => {
    const url = await startHandler(({ headers, chunks }) => {
      const decoder = new StringDecoder('utf8')
      const text = chunks.map((chunk) => decoder.write(chunk)).join('') + decoder.end()
      return headers['x-signature'] === signBody(text, secret) ? 200 : 401
    })
    const { verdicts } = await checkHandler({ url, secret })
    expect(verdicts.filter((verdict) => !verdict.isRight)).toEqual([])
  })

  test.each(snippetLanguages.filter(isSnippetLanguage))(
    'that evroute prints for %s is right in every case',
    async (language) => {
      if (!canRun(language)) return
      const url = await runHandler(language, secret)
      const { verdicts, findings } = await checkHandler({ url, secret })
      expect(verdicts.filter((verdict) => !verdict.isRight)).toEqual([])
      expect(findings).toEqual([])
    },
  )
})

describe.each(wrongHandlers)('a handler that $given', (row) => {
  test('is detected', async () => {
    const url = await startHandler(row.handle)
    const { isRight, findings, verdicts } = await checkHandler({ url, secret, timeoutMs: 1_000 })
    const codes = findings.map(({ code }) => code)
    expect({ isRight, codes }).toEqual({ isRight: false, codes: row.codes ?? [row.code] })
    const finding = findings.find(({ code }) => code === row.code)
    expect(finding?.message).toMatch(row.message)
    expect(finding?.cases).toEqual(expect.arrayContaining([...row.cases]))
    // Every wrong verdict is explained once.
    const explained = findings.flatMap(({ cases }) => cases)
    const wrong = verdicts.filter((each) => !each.isRight && each.reaction !== 'not_sent')
    expect([...explained].sort()).toEqual(wrong.map(({ id }) => id).sort())
  })
})

test('a handler that refuses a webhook it has already seen loses retries', async () => {
  const known = new Set<string>()
  const url = await startHandler((request) => {
    const signature = String(request.headers['x-signature'])
    if (correct(request) === 200 && known.has(signature)) return 409
    known.add(signature)
    return correct(request)
  })
  const { findings } = await checkHandler({ url, secret })
  expect(findings).toMatchObject([{ code: 'repeats_refused', cases: ['repeated'] }])
})

test('an unreachable handler is reported after a few cases', async () => {
  const { hasAnswered, findings, verdicts } = await checkHandler({
    url: await unreachableUrl(),
    secret,
  })
  expect(hasAnswered).toBe(false)
  const message = 'It cannot be reached: connection refused (ECONNREFUSED).'
  const fix = 'Start it, and check the port in the URL.'
  const cases = ['plain', 'spaced', 'escaped']
  expect(findings).toEqual([{ code: 'unreachable', message, fix, cases }])
  expect(verdicts.filter(({ reaction }) => reaction === 'unreachable')).toHaveLength(3)
})

describe('a handler is unreachable, and the fix fits the reason, if', () => {
  const only = ['plain', 'missing-header']

  async function expectUnreachable(url: string, reason: { message: string; fix: string }) {
    const { hasAnswered, findings } = await checkHandler({ url, secret, only })
    expect(hasAnswered).toBe(false)
    expect(findings).toEqual([{ code: 'unreachable', ...reason, cases: only }])
  }

  test('its port speaks http, not https', async () => {
    const url = (await startHandler(correct)).replace('http:', 'https:')
    await expectUnreachable(url, {
      message:
        'It cannot be reached: that port speaks http, not https (ERR_SSL_WRONG_VERSION_NUMBER).',
      fix: 'Write http:// in the URL, or use the port for https.',
    })
  })

  test('its port speaks https, not http', async () => {
    const server = createTlsServer(await makeCertificate()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    await expectUnreachable(url, {
      message:
        'It cannot be reached: the connection was closed without an answer; that port may speak https (connection_closed).',
      fix: "Write https:// in the URL if the port speaks https. Otherwise, read the handler's log.",
    })
  })

  test('its certificate is not trusted', async () => {
    await using handler = await startReceiver({ tls: 'self-signed', secret })
    const { findings } = await checkHandler({ url: handler.url, secret, only })
    expect(findings).toMatchObject([
      {
        code: 'unreachable',
        message: 'It cannot be reached: self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT).',
        fix: /^Check the handler over http, or set NODE_EXTRA_CA_CERTS /,
      },
    ])
  })

  test('its host does not exist', async () => {
    const { findings } = await checkHandler({ url: 'http://shop.invalid/', secret, only })
    expect(findings).toMatchObject([
      {
        message: /^It cannot be reached: (no such host|the name server did not answer)/,
        fix: 'Check the host name in the URL.',
      },
    ])
  })
})

test('a handler that exits on a wrong signature is reported as crashed after that case', async () => {
  const handler = createServer((request, response) => {
    const isSigned = /^[0-9a-f]{40}$/.test(String(request.headers['x-signature']))
    request.resume().on('end', () => {
      response.writeHead(200, { connection: 'close' }).end()
      if (!isSigned) handler.close()
    })
  }).listen(0, '127.0.0.1')
  await once(handler, 'listening')
  const { port } = handler.address() as AddressInfo
  const only = ['plain', 'missing-header', 'empty-header', 'not-hex']
  const url = `http://127.0.0.1:${port}/`
  const { findings } = await checkHandler({ url, secret, only })
  expect(findings).toMatchObject([
    {
      code: 'crashed',
      message: /after the case missing-header/,
      cases: ['empty-header', 'not-hex'],
    },
    { code: 'takes_unsigned', cases: ['missing-header'] },
  ])
})

test('a handler that crashes is reported once, with the case that made it crash', async () => {
  const handler = createServer((request, response) => {
    if (request.headers['x-signature'] === 'z'.repeat(40)) handler.close()
    if (!handler.listening) request.socket.destroy()
    else response.writeHead(401, { connection: 'close' }).end()
  }).listen(0, '127.0.0.1')
  await once(handler, 'listening')
  const { port } = handler.address() as AddressInfo
  const only = ['missing-header', 'not-hex', 'not-ascii', 'truncated']
  const { findings } = await checkHandler({ url: `http://127.0.0.1:${port}/`, secret, only })
  expect(findings).toMatchObject([
    {
      code: 'crashed',
      message: /after the case not-hex/,
      cases: ['not-hex', 'not-ascii', 'truncated'],
    },
  ])
})

test('the time limit for an answer does not include the pauses between packets', async () => {
  const { url } = await TestEndpoint.start('hang')
  const { verdicts } = await checkHandler({ url, secret, only: ['plain', 'split'], timeoutMs: 1 })
  expect(verdicts).toMatchObject([{ reaction: 'timeout' }, { reaction: 'timeout' }])
  expect(verdicts[1]!.durationMs).toBeGreaterThan(100)
})

test.each([
  [{ url: 'ftp://127.0.0.1/', secret }, 'url'],
  [{ url: 'http://127.0.0.1:1/', secret: '' }, 'secret'],
  [{ url: 'http://127.0.0.1:1/', secret, types: [] }, 'types'],
  [{ url: 'http://127.0.0.1:1/', secret, only: ['plane'] }, 'only'],
  [{ url: 'http://127.0.0.1:1/', secret, timeoutMs: 6_000 }, 'timeoutMs'],
  [{ url: 'http://127.0.0.1:1/', secret, timeout: 1 }, 'timeout'],
])('invalid options are named: %j', async (options, setting) => {
  await expect(checkHandler(options)).rejects.toMatchObject({ code: 'invalid_setting', setting })
})
