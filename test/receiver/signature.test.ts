import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { judgeSignature } from '../../src/receiver/signature.ts'

const body = Buffer.from('{"type":"page"}')
const right = createHmac('sha1', 'not-a-real-secret').update(body).digest('hex')

test.each([
  { name: 'the right one', header: right, verdict: 'valid', reason: /^null$/ },
  { name: 'none', header: undefined, verdict: 'missing', reason: /no X-Signature/ },
  { name: 'an empty one', header: '', verdict: 'missing', reason: /no X-Signature/ },
  {
    name: 'upper case',
    header: right.toUpperCase(),
    verdict: 'invalid',
    reason: /are upper-case$/,
  },
  { name: 'no digits', header: 'z'.repeat(40), verdict: 'invalid', reason: /not hexadecimal$/ },
  {
    name: 'a prefix',
    header: `sha1=${right}`,
    verdict: 'invalid',
    reason: /it has 45 characters$/,
  },
  { name: 'another one', header: '0'.repeat(40), verdict: 'invalid', reason: /another secret/ },
])('$name is $verdict, in words', ({ header, verdict, reason }) => {
  const judgement = judgeSignature(body, header, 'not-a-real-secret')
  expect(judgement.verdict).toBe(verdict)
  expect(String(judgement.reason)).toMatch(reason)
})
