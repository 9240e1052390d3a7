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

interface RefusedCase {
  readonly id: string
  readonly about: string
  /** Makes the signature; undefined to send none. */
  readonly sign: (signing: Signing) => string | undefined
  /** Headers other than X-Signature that contain the right signature. */
  readonly otherHeaders?: readonly string[]
  readonly alter?: (body: string) => string
}

const right = ({ right: signature }: Signing): string => signature
const keyedWith =
  (key: string) =>
  ({ body }: Signing) =>
    signBody(body, key)

/** A secret that no handler has. */
export const wrongSecret = 'evroute check: not the secret'

const otherHeaders = ['X-Hub-Signature', 'X-Segment-Signature', 'X-Webhook-Signature', 'Signature']

/** Forged signatures. Every handler must refuse them. */
const forgeries: readonly RefusedCase[] = [
  { id: 'wrong-secret', about: 'signed with a different secret', sign: keyedWith(wrongSecret) },
  {
    id: 'altered-byte',
    about: 'with a byte changed after it was signed',
    sign: right,
    alter: (body) => body.replace(sampleUserId, sampleUserId.replace('e', 'a')),
  },
  {
    id: 'altered-space',
    about: 'with spaces added after it was signed',
    sign: right,
    alter: (body) => restyleBody(body, 'spaced'),
  },
  {
    id: 'other-body',
    about: 'with the signature of a different webhook',
    sign: ({ body, secret }) => signBody(body.replace(sampleUserId, 'u_other'), secret),
  },
  { id: 'missing-header', about: 'without X-Signature', sign: () => undefined },
  { id: 'empty-header', about: 'with an empty X-Signature', sign: () => '' },
  {
    id: 'not-hex',
    about: 'with 40 letters that are not hexadecimal digits',
    sign: () => 'z'.repeat(40),
  },
  {
    id: 'not-ascii',
    about: 'with 40 letters beyond ASCII as its signature',
    sign: () => 'é'.repeat(40),
  },
  {
    id: 'not-json',
    about: 'with a body that is not JSON, and a forged signature',
    sign: keyedWith(wrongSecret),
    alter: (body) => body.slice(0, -1),
  },
  {
    id: 'truncated',
    about: 'with the first half of its signature',
    sign: ({ right: signature }) => signature.slice(0, 20),
  },
  {
    id: 'longer',
    about: 'with a wrong signature after its own',
    sign: ({ right: signature }) => `${signature}, ${'0'.repeat(40)}`,
  },
  {
    id: 'list',
    about: 'with its signature after a wrong one',
    sign: ({ right: signature }) => `${'0'.repeat(40)}, ${signature}`,
  },
]

/** Correct digests in other forms. They are not forgeries, but the specification allows only one form. */
const forms: readonly RefusedCase[] = [
  {
    id: 'upper-case',
    about: 'with its signature in upper case',
    sign: ({ right: signature }) => signature.toUpperCase(),
  },
  {
    id: 'prefix',
    about: 'with sha1= before its signature',
    sign: ({ right: signature }) => `sha1=${signature}`,
  },
  {
    id: 'white-space',
    about: 'with a space within its signature',
    sign: ({ right: signature }) => `${signature.slice(0, 20)} ${signature.slice(20)}`,
  },
  {
    id: 'base64',
    about: 'with its signature in base64',
    sign: ({ right: signature }) => Buffer.from(signature, 'hex').toString('base64'),
  },
  {
    id: 'sha256',
    about: 'signed with HMAC-SHA256',
    sign: ({ body, secret }) => createHmac('sha256', secret).update(body).digest('hex'),
  },
]

/** Signatures that only a handler with a common mistake accepts. */
const mistakes: readonly RefusedCase[] = [
  {
    id: 'other-header',
    about: `with its signature only in other headers, such as ${otherHeaders[0]}`,
    sign: () => undefined,
    otherHeaders,
  },
  { id: 'empty-secret', about: 'signed with an empty secret', sign: keyedWith('') },
  { id: 'undefined-secret', about: 'signed with "undefined"', sign: keyedWith('undefined') },
  {
    id: 'newline-secret',
    about: 'signed with a line break after the secret',
    sign: ({ body, secret }) => signBody(body, `${secret}\n`),
  },
  {
    id: 'no-secret',
    about: 'with the SHA-1 of its body',
    sign: ({ body }) => createHash('sha1').update(body).digest('hex'),
  },
  {
    id: 'swapped',
    about: 'signed with the body as the key',
    sign: ({ body, secret }) => signBody(secret, body),
  },
  {
    id: 'empty-body',
    about: 'with the signature of an empty body',
    sign: ({ secret }) => signBody('', secret),
  },
  {
    id: 'object-body',
    about: 'with the signature of "[object Object]"',
    sign: ({ secret }) => signBody('[object Object]', secret),
  },
]

/** Makes the webhooks of one type that a correct handler refuses. */
export function refusedCases({
  type,
  text,
  secret,
}: {
  readonly type: EventType
  readonly text: string
  readonly secret: string
}): readonly CheckCase[] {
  const signing = { body: text, secret, right: signBody(text, secret) }
  return [...forgeries, ...forms, ...mistakes].map((each) => {
    const { id, about, sign, alter = (body) => body, otherHeaders = [] } = each
    const headers = Object.fromEntries(otherHeaders.map((name) => [name, signing.right]))
    const signature = sign(signing)
    return { id, about, expected: 'refused', type, body: alter(text), signature, headers }
  })
}
