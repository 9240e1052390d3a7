import { describe, expect, test } from 'vitest'
import { BodySigner, checkSignature, signBody, verifySignature } from '../../src/webhook/index.ts'

const secret = 'not-a-real-secret'
const body = '{"version":1,"type":"track","userId":"u_1","event":"Ping"}'
const signature = 'a613c03d0520d42b918112a7fb5ba00dc9c077ad'

describe('signBody', () => {
  // The first two are cases 2 and 6 of RFC 2202; the others were computed with Python's hmac.
  test.each([
    {
      name: 'a text',
      key: 'Jefe',
      text: 'what do ya want for nothing?',
      expected: 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
    },
    {
      name: 'a secret longer than a block',
      key: 'a'.repeat(80),
      text: 'Test Using Larger Than Block-Size Key - Hash Key First',
      expected: '1c1ca7363cb2cced986bb909cab1957e653c073b',
    },
    {
      name: 'a secret and a body outside ASCII',
      key: 'clé-🔑-不是真的',
      text: '{"type":"track","event":"Café 🎈"}',
      expected: '5df2ad2daae0a7f9634a83adfa5e6d3a4de15576',
    },
    {
      name: 'an empty body',
      key: secret,
      text: '',
      expected: '286f097358ce25b0f65d637d01232abadd3efa1a',
    },
    {
      name: 'bytes that are not text',
      key: secret,
      text: Buffer.from([0, 255, 254, 128]),
      expected: '463ea1fce50d7fc176f83686ed84498a394ee175',
    },
  ])('signs $name', ({ key, text, expected }) => {
    expect(signBody(text, key)).toBe(expected)
  })
})

describe('BodySigner', () => {
  const secrets = {
    'a short secret': 'Jefe',
    'a secret of one block': 'b'.repeat(64),
    'a secret longer than a block': 'a'.repeat(65),
    'a secret outside ASCII': 'clé-🔑-不是真的',
  }
  const bodies = [
    '',
    body,
    'Café 🎈',
    'lone \ud83d surrogate',
    '不'.repeat(16 * 1024),
    'x'.repeat(16 * 1024 + 1),
  ]

  test.each(Object.entries(secrets))('signs every body like signBody, with %s', (_, key) => {
    const signer = new BodySigner(key)
    // A signer with a different secret shares the scratch memory.
    const other = new BodySigner(secret)
    for (const text of bodies) {
      expect(signer.sign(text)).toBe(signBody(text, key))
      expect(other.sign(text)).toBe(signBody(text, secret))
    }
  })
})

describe('checkSignature', () => {
  test.each([
    { name: 'the signature', header: signature, expected: 'valid' },
    { name: 'no header', header: undefined, expected: 'missing' },
    { name: 'an empty header', header: '', expected: 'missing' },
    { name: 'upper case', header: signature.toUpperCase(), expected: 'malformed' },
    { name: '39 digits', header: signature.slice(1), expected: 'malformed' },
    { name: '41 digits', header: `${signature}0`, expected: 'malformed' },
    { name: 'a prefix', header: `sha1=${signature}`, expected: 'malformed' },
    { name: 'a line feed at the end', header: `${signature}\n`, expected: 'malformed' },
    { name: 'letters beyond f', header: 'g'.repeat(40), expected: 'malformed' },
    { name: 'a different signature', header: '0'.repeat(40), expected: 'mismatch' },
    {
      name: 'a signature of other bytes',
      header: signBody(`${body} `, secret),
      expected: 'mismatch',
    },
    {
      name: 'a signature with a different secret',
      header: signBody(body, 'other'),
      expected: 'mismatch',
    },
  ])('reports $name as $expected', ({ header, expected }) => {
    expect(checkSignature(body, header, secret)).toBe(expected)
    expect(checkSignature(Buffer.from(body), header, secret)).toBe(expected)
    expect(verifySignature(body, header, secret)).toBe(expected === 'valid')
  })
})

describe('verifySignature, called without types', () => {
  test.each([
    ['a list of one header', [signature], true],
    ['a list of two headers', [signature, signature], false],
    ['an empty list', [], false],
    ['null, as from fetch', null, false],
  ])('accepts %s', (_, header, expected) => {
    expect(verifySignature(body, header, secret)).toBe(expected)
  })

  test('reports that a parsed body cannot be verified', () => {
    const parsed = JSON.parse(body) as string
    expect(() => verifySignature(parsed, signature, secret)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('the body has already been parsed') as string,
        hint: expect.stringContaining('express.raw') as string,
      }) as Error,
    )
  })

  test.each([undefined, ''])('reports that the secret %j is invalid', (missing) => {
    expect(() => verifySignature(body, signature, missing as string)).toThrow(
      /without the shared secret/,
    )
  })
})
