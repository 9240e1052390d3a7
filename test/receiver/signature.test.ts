import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { signatureJudge } from '../../src/receiver/signature.ts'

const secret = 'not-a-real-secret'
const body = Buffer.from('{"type":"page"}')
const right = createHmac('sha1', secret).update(body).digest('hex')

const judge = (signature: string | undefined) => signatureJudge({ secret })({ body, signature }, 0)

test.each([
  { name: 'the right one', header: right, verdict: 'valid', reason: /^null$/ },
  { name: 'none', header: undefined, verdict: 'missing', reason: /no X-Signature/ },
  { name: 'an empty one', header: '', verdict: 'missing', reason: /X-Signature is empty/ },
  {
    name: 'one without hexadecimal digits',
    header: 'z'.repeat(40),
    verdict: 'invalid',
    reason: /not hexadecimal$/,
  },
  { name: 'upper case', header: 'F'.repeat(40), verdict: 'invalid', reason: /are upper-case$/ },
  {
    name: 'one of a different length',
    header: right.slice(1),
    verdict: 'invalid',
    reason: /it has 39 characters$/,
  },
  {
    name: 'a different one',
    header: '0'.repeat(40),
    verdict: 'invalid',
    reason: /different secret/,
  },
])('$name is reported as $verdict, with an explanation', ({ header, verdict, reason }) => {
  const judgement = judge(header)
  expect(judgement.verdict).toBe(verdict)
  expect(String(judgement.reason)).toMatch(reason)
  expect(judgement.diagnosis).toBeNull()
})

test('a recognised mistake is given as the reason, together with a fix', () => {
  const { verdict, reason, diagnosis } = judge(right.toUpperCase())
  expect(verdict).toBe('invalid')
  expect(reason).toBe('The signature is in upper-case hexadecimal digits')
  expect(diagnosis).toEqual({
    mistake: 'upper_case',
    message: reason,
    fix: 'Write the digest as lower-case hexadecimal digits.',
  })
})

test('a Content-Encoding that the body does not have is mentioned only if no signature fits', () => {
  const headers = { 'content-encoding': 'gzip' }
  const request = { body, signature: '0'.repeat(40), headers }
  expect(signatureJudge({ secret })(request, 0)).toEqual({
    verdict: 'invalid',
    reason:
      'X-Signature was made with a different secret or over different bytes; Content-Encoding is gzip, but the body is not compressed',
    diagnosis: null,
  })
})
