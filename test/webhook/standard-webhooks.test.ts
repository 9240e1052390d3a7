import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import {
  signBody,
  signStandardWebhook,
  standardWebhooksHeaders,
  webhookId,
} from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { startMs } from '../support/recording-runtime.ts'
import { body, postTo } from './post-to.ts'

/** 25 bytes that are not UTF-8, in base64. */
const base64 = 'AP/+gAECAwQFBgcICQoLDA0ODxAREhMUFQ=='
const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

describe('signStandardWebhook', () => {
  const content = { id: 'm_1', timestamp: 1_767_323_045, body: '{"event":"Café 🎈"}' }

  test('makes the signature from the test suites of the Standard Webhooks libraries', () => {
    const signature = signStandardWebhook(
      {
        id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        timestamp: 1_614_265_330,
        body: '{"test": 2432232314}',
      },
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    )
    expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  // Computed with Python's hmac.
  test.each([
    {
      name: 'the bytes of whsec_ and base64',
      secret: `whsec_${base64}`,
      expected: 'n2Msg3QwCWRabL6nV0raVJiE9Dfg5ZAN6enu4gDp/xA=',
    },
    {
      name: 'a text',
      secret: 'not-a-real-secret',
      expected: 'h/YJR08tLD7InzMeyBFsBR3TOWkTQPyuQ+uxT1RH4b4=',
    },
    {
      name: 'a text outside ASCII',
      secret: 'clé-🔑-不是真的',
      expected: 'O7dZU1M+HL++wJjUJJedg2WiPTbGq9OOCBDxbu6mVxA=',
    },
    {
      name: 'the text of base64 without the prefix',
      secret: base64,
      expected: '55vZZ3CLd7JMOS8xAmp4p8gB8Mt/3KA2AAEEc4LJoIg=',
    },
    {
      name: 'the text of the prefix and no base64',
      secret: 'whsec_not-real',
      expected: 't5hm9DDKLDPX6hWDfaVU752hVpOxnsTgO1GUfSC5Ec8=',
    },
    {
      name: 'the text of the prefix and truncated base64',
      secret: 'whsec_AP/+gA',
      expected: 'ADJuwLqd2jXY6uGuIXNuyWUs6LrROK2cLlndqVibqEQ=',
    },
    {
      name: 'the text of the prefix alone',
      secret: 'whsec_',
      expected: 'qbPtiRebIvdXzdGyD2kHbuG+D6F+TH2kQkF1J69bipI=',
    },
  ])('uses $name as the key', ({ secret, expected }) => {
    expect(signStandardWebhook(content, secret)).toBe(`v1,${expected}`)
  })
})

test('a text is the same key as whsec_ and its base64, the form that libraries accept', () => {
  const content = { id: 'm_1', timestamp: 1_767_323_045, body: '{}' }
  const [text, encoded] = [
    'clé-not-real',
    `whsec_${Buffer.from('clé-not-real').toString('base64')}`,
  ]
  expect(signStandardWebhook(content, text)).toBe(signStandardWebhook(content, encoded))
})

describe('webhookId', () => {
  test.each([
    'm_1',
    '2a1c1b0e-6a8a-4f0e-9d7b-0123456789ab',
    `ajs-next-1767323045678-!"#$&'()*+,-/:;<=>?@[]^_\`{|}~\\`,
    'x'.repeat(256),
  ])('leaves %s unchanged', (messageId) => {
    expect(webhookId(messageId)).toBe(messageId)
  })

  test.each([
    { messageId: 'order.42.paid', expected: 'order%2E42%2Epaid' },
    { messageId: '100%', expected: '100%25' },
    { messageId: ' a b\t', expected: '%20a%20b%09' },
    { messageId: 'a\r\nX-Signature: b', expected: 'a%0D%0AX-Signature:%20b' },
    { messageId: '\u0000\u007f', expected: '%00%7F' },
    { messageId: 'ÿ不🎈', expected: '%C3%BF%E4%B8%8D%F0%9F%8E%88' },
  ])('encodes $messageId reversibly', ({ messageId, expected }) => {
    expect(webhookId(messageId)).toBe(expected)
    expect(decodeURIComponent(expected)).toBe(messageId)
  })

  test('encodes a lone surrogate as the replacement character', () => {
    expect(webhookId('a\ud83d')).toBe('a%EF%BF%BD')
  })

  // Computed with Python's hashlib.
  test.each([
    {
      name: '257 characters',
      messageId: 'x'.repeat(257),
      expected: '15eb95a462ee20bd91a415ae2d4aed341288186ddaa2b37908f7d592f0c3f85f',
    },
    {
      name: '86 that are encoded',
      messageId: '.'.repeat(86),
      expected: '6d2e1b262a9aee883cc33f0fbbbacc8748df3ed680ed7b9156f17f8b42aacb12',
    },
  ])('hashes $name', ({ messageId, expected }) => {
    expect(webhookId(messageId)).toBe(`sha256_${expected}`)
  })
})

describe('standardWebhooksHeaders', () => {
  const webhook = { body, messageId: 'order.42' }

  test('contain a signature of their values for each secret, in order', () => {
    const secrets = ['new-no-secret', 'old-no-secret']
    const content = { id: 'order%2E42', timestamp: 1_767_323_045, body }
    const signatures = secrets.map((secret) => signStandardWebhook(content, secret))
    expect(standardWebhooksHeaders(webhook, { secrets }, startMs)).toEqual({
      'webhook-id': 'order%2E42',
      'webhook-timestamp': '1767323045',
      'webhook-signature': signatures.join(' '),
    })
    expect(signatures[0]).not.toBe(signatures[1])
  })

  test('contain the time rounded down to a second', () => {
    const timestampAt = (nowMs: number): string =>
      standardWebhooksHeaders(webhook, { secrets: ['s'] }, nowMs)['webhook-timestamp']
    expect([1_999, 2_000, 2_000.9].map(timestampAt)).toEqual(['1', '2', '2'])
  })
})

describe('a request with Standard Webhooks headers', () => {
  const standardWebhooks = { secrets: ['new-no-secret', `whsec_${base64}`] }

  test('has them besides X-Signature, with the time of the attempt', async () => {
    const endpoint = await TestEndpoint.start()
    const clock = new ManualClock(startMs)
    const sharedSecret = 'not-a-real-secret'
    const post = postTo({ url: endpoint.url }, { sharedSecret, standardWebhooks, clock })
    await post(body, 'm_7')
    await clock.advance(10_000)
    await post(body, 'm_7')
    const webhook = { body: endpoint.requests[0]!.body.toString(), messageId: 'm_7' }
    for (const [index, nowMs] of [startMs, startMs + 10_000].entries()) {
      expect(endpoint.requests[index]?.headers).toMatchObject({
        'x-signature': signBody(body, sharedSecret),
        ...standardWebhooksHeaders(webhook, standardWebhooks, nowMs),
      })
    }
  })

  test('has them even without a shared secret', async () => {
    const endpoint = await TestEndpoint.start()
    await postTo({ url: endpoint.url }, { standardWebhooks })()
    const { headers } = endpoint.requests[0]!
    expect(Object.keys(headers)).toEqual(expect.arrayContaining([...names]))
    expect(headers).not.toHaveProperty('x-signature')
  })

  test('uses the id of the event if the body has none', async () => {
    const endpoint = await TestEndpoint.start()
    const post = postTo({ url: endpoint.url }, { standardWebhooks })
    await post('{"type":"delete","userId":"u_1","timestamp":"2026-01-02T03:04:05.678Z"}', 'm_9')
    expect(endpoint.requests[0]?.headers['webhook-id']).toBe('m_9')
  })

  test.each(['a\r\nX-Team: b', '日本 🎈', 'x'.repeat(30_000)])(
    'arrives with any messageId (%.20j)',
    async (messageId) => {
      const endpoint = await TestEndpoint.start()
      const post = postTo({ url: endpoint.url }, { standardWebhooks })
      expect(await post(body, messageId)).toMatchObject({ kind: 'answered', status: 200 })
      expect(endpoint.requests[0]?.headers['webhook-id']).toBe(webhookId(messageId))
      expect(endpoint.requests[0]?.headers).not.toHaveProperty('x-team')
    },
  )

  test('has none of them unless they are configured', async () => {
    const endpoint = await TestEndpoint.start()
    await postTo({ url: endpoint.url }, { sharedSecret: 'not-a-real-secret' })()
    for (const name of names) expect(endpoint.requests[0]?.headers).not.toHaveProperty(name)
  })
})
