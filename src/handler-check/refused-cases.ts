import { createHash, createHmac } from 'node:crypto'
import type { EventType } from '../model/index.ts'
import { restyleBody, signBody } from '../webhook/index.ts'
import type { CheckCase } from './check-case.ts'
import { sampleUserId } from './sample-webhook.ts'

interface Signing {
  readonly body: string
  readonly secret: string
  readonly right: string
}

/** A signature, undefined to send none, and what else differs from a valid webhook. */
type RefusedCase = readonly [
  id: string,
  about: string,
  signature: string | undefined,
  different?: Partial<Pick<CheckCase, 'body' | 'headers'>>,
]

/** A secret that no handler has. */
export const wrongSecret = 'evroute check: not the secret'

const otherHeaders = ['X-Hub-Signature', 'X-Segment-Signature', 'X-Webhook-Signature', 'Signature']

/** Forged signatures. Every handler must refuse them. */
function forgeries({ body, secret, right }: Signing): readonly RefusedCase[] {
  const forged = signBody(body, wrongSecret)
  const ofOther = signBody(body.replace(sampleUserId, 'u_other'), secret)
  const altered = body.replace(sampleUserId, sampleUserId.replace('e', 'a'))
  const spaced = restyleBody(body, 'spaced')
  const cut = body.slice(0, -1)
  return [
    ['wrong-secret', 'signed with a different secret', forged],
    ['altered-byte', 'with a byte changed after it was signed', right, { body: altered }],
    ['altered-space', 'with spaces added after it was signed', right, { body: spaced }],
    ['other-body', 'with the signature of a different webhook', ofOther],
    ['missing-header', 'without X-Signature', undefined],
    ['empty-header', 'with an empty X-Signature', ''],
    ['not-hex', 'with 40 letters that are not hexadecimal digits', 'z'.repeat(40)],
    ['not-ascii', 'with 40 non-ASCII letters as its signature', 'é'.repeat(40)],
    ['not-json', 'with a body that is not JSON, and a forged signature', forged, { body: cut }],
    ['truncated', 'with the first half of its signature', right.slice(0, 20)],
    ['longer', 'with a wrong signature after its own', `${right}, ${'0'.repeat(40)}`],
    ['list', 'with its signature after a wrong one', `${'0'.repeat(40)}, ${right}`],
  ]
}

/** Correct digests in other forms. They are not forgeries, but the specification allows only one form. */
function otherForms({ body, secret, right }: Signing): readonly RefusedCase[] {
  const withSpace = `${right.slice(0, 20)} ${right.slice(20)}`
  const base64 = Buffer.from(right, 'hex').toString('base64')
  const sha256 = createHmac('sha256', secret).update(body).digest('hex')
  return [
    ['upper-case', 'with its signature in upper case', right.toUpperCase()],
    ['prefix', 'with sha1= before its signature', `sha1=${right}`],
    ['white-space', 'with a space within its signature', withSpace],
    ['base64', 'with its signature in base64', base64],
    ['sha256', 'signed with HMAC-SHA256', sha256],
  ]
}

/** Signatures that only a handler with a common mistake accepts. */
function mistakes({ body, secret, right }: Signing): readonly RefusedCase[] {
  const headers = Object.fromEntries(otherHeaders.map((name) => [name, right]))
  const aboutHeaders = `with its signature only in other headers, such as ${otherHeaders[0]}`
  const hash = createHash('sha1').update(body).digest('hex')
  return [
    ['other-header', aboutHeaders, undefined, { headers }],
    ['empty-secret', 'signed with an empty secret', signBody(body, '')],
    ['undefined-secret', 'signed with "undefined"', signBody(body, 'undefined')],
    ['newline-secret', 'signed with a line break after the secret', signBody(body, `${secret}\n`)],
    ['no-secret', 'with the SHA-1 of its body', hash],
    ['swapped', 'signed with the body as the key', signBody(secret, body)],
    ['empty-body', 'with the signature of an empty body', signBody('', secret)],
    ['object-body', 'with the signature of "[object Object]"', signBody('[object Object]', secret)],
  ]
}

/** Makes the webhooks of one type that a correct handler refuses. */
export function refusedCases(type: EventType, body: string, secret: string): readonly CheckCase[] {
  const signing = { body, secret, right: signBody(body, secret) }
  return [...forgeries(signing), ...otherForms(signing), ...mistakes(signing)].map(
    ([id, about, signature, different]) =>
      ({ id, about, expected: 'refused', type, body, signature, ...different }) as const,
  )
}
