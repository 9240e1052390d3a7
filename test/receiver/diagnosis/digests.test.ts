import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { diagnose, type MistakeCode } from '../../../src/receiver/index.ts'

const secret = 'not-a-real-secret'
const compact = '{"type":"page","userId":"u_1"}'

function sign(body: string, key: string = secret): string {
  return createHmac('sha1', key).update(body).digest('hex')
}

function hash(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

const rows: readonly (readonly [
  given: string,
  body: string,
  signature: string,
  mistake: MistakeCode,
  message: RegExp,
])[] = [
  ['an empty secret', compact, sign(compact, ''), 'secret_missing', /an empty secret/],
  ...['undefined', 'null', 'None'].map(
    (key) =>
      [
        `the secret ${key}`,
        compact,
        sign(compact, key),
        'secret_missing',
        new RegExp(`the text "${key}" as the secret`),
      ] as const,
  ),
  ['the body as the key', compact, sign(secret, compact), 'swapped_arguments', /swapped/],
  ['a hash of the body', compact, hash(compact), 'without_key', /a plain hash, not an HMAC/],
  ['a hash of secret and body', compact, hash(secret + compact), 'without_key', /plain hash/],
  ['a hash of body and secret', compact, hash(compact + secret), 'without_key', /plain hash/],
  ['an object', compact, sign('[object Object]'), 'object_body', /\[object Object\]/],
  ['LF for CRLF', '{\r\n"a": 1.0\r\n}', sign('{\n"a": 1.0\n}'), 'line_ends', /LF and CRLF/],
  ['CRLF for LF', '{\n"a": 1.0\n}', sign('{\r\n"a": 1.0\r\n}'), 'line_ends', /LF and CRLF/],
  ['sorted keys', '{"b":1.0,"a":2}', sign('{"a":2,"b":1}'), 're_serialised', /re-serialised/],
  ['a space before it', compact, ` ${sign(compact)}`, 'signature_space', /white space around it/],
  ['a line break after it', compact, `${sign(compact)}\n`, 'signature_space', /white space/],
]

test.each(rows.map((row) => ({ given: row[0], row })))('$given is diagnosed', ({ row }) => {
  const [, body, signature, mistake, message] = row
  const diagnosis = diagnose({ body: Buffer.from(body), signature, secret })
  expect(diagnosis).toMatchObject({ mistake, message: expect.stringMatching(message) as string })
  expect(diagnosis!.fix).toMatch(/^[A-Z].*\.$/)
  expect(JSON.stringify(diagnosis)).not.toContain(secret)
})

describe('two mistakes at once', () => {
  test('are both named if the digest is one of them', () => {
    const signature = hash(compact).toUpperCase()
    expect(diagnose({ body: Buffer.from(compact), signature, secret })).toMatchObject({
      mistake: 'upper_case+without_key',
    })
  })
})
