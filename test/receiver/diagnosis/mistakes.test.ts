import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { MistakeCode, ReceivedEvent } from '../../../src/receiver/index.ts'
import { post, start } from '../requests.ts'

/** A request with a wrong signature. */
interface WrongRequest {
  readonly body: string | Buffer
  readonly signature?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A second secret of the receiver. */
  readonly secret?: string
}

/** A mistake, how a client makes it, and which mistake the diagnosis names. */
interface Row {
  readonly given: string
  readonly request: WrongRequest
  readonly mistake: MistakeCode | `${MistakeCode}+${string}`
  readonly message: RegExp
}

const secret = 'not-a-real-secret'
const event = { type: 'track', userId: 'u_1', event: 'Café/Bar <1>', properties: { n: [1, {}] } }
const compact = JSON.stringify(event)

function hmac(body: string | Buffer, algorithm: 'sha1' | 'sha256' | 'sha512' = 'sha1'): Buffer {
  return createHmac(algorithm, secret).update(body).digest()
}

function sign(body: string | Buffer, key: string | Buffer = secret): string {
  return createHmac('sha1', key).update(body).digest('hex')
}

/** The body that is sent, and the bytes that were signed instead. */
function signedInstead(body: string | Buffer, instead: string | Buffer): WrongRequest {
  return { body, signature: sign(instead) }
}

const looks: readonly Row[] = [
  {
    given: 'upper-case digits',
    request: { body: compact, signature: sign(compact).toUpperCase() },
    mistake: 'upper_case',
    message: /upper-case/,
  },
  {
    given: 'SHA-256',
    request: { body: compact, signature: hmac(compact, 'sha256').toString('hex') },
    mistake: 'sha256',
    message: /HMAC-SHA256 instead of an HMAC-SHA1/,
  },
  {
    given: 'SHA-512',
    request: { body: compact, signature: hmac(compact, 'sha512').toString('hex') },
    mistake: 'sha512',
    message: /HMAC-SHA512/,
  },
  {
    given: 'base64',
    request: { body: compact, signature: hmac(compact).toString('base64') },
    mistake: 'base64',
    message: /base64 instead/,
  },
  {
    given: 'base64url',
    request: { body: compact, signature: hmac(compact).toString('base64url') },
    mistake: 'base64url',
    message: /base64url instead/,
  },
  {
    given: 'base64 without its padding',
    request: { body: 'a', signature: hmac('a').toString('base64').replace('=', '') },
    mistake: 'base64url',
    message: /base64url instead/,
  },
  ...['sha1=', 'v1,', 't=1767225600,v1=', 'HMAC: '].map((prefix) => ({
    given: `the prefix ${prefix}`,
    request: { body: compact, signature: `${prefix}${sign(compact)}` },
    mistake: 'prefix' as const,
    message: new RegExp(`begins with "${prefix.trimEnd()}`),
  })),
]

const python = (json: string): string => json.replaceAll('":', '": ').replaceAll(',', ', ')
const ascii = (json: string): string => json.replaceAll('é', '\\u00e9')

const jsonTexts: readonly Row[] = [
  ['spaces that were not signed', python(compact), compact, /JSON\.stringify\(JSON\.parse/],
  ['a number that JavaScript shortens', '{"a": 1.0}', '{"a":1.0}', /without white space/],
  ["Python's spaces", compact, python(compact), /Python's json\.dumps/],
  ["Python's spaces and escapes", compact, ascii(python(compact)), /Python's json\.dumps/],
  ["Python's escapes alone", compact, ascii(compact), /json\.dumps .* compact/],
  ['two spaces', compact, JSON.stringify(event, null, 2), /indented by 2/],
  ['four spaces', compact, JSON.stringify(event, null, 4), /indented by 4/],
  ["PHP's escapes", compact, ascii(compact).replaceAll('/', '\\/'), /json_encode/],
  [
    "Go's escapes",
    compact,
    compact.replace('<', '\\u003c').replace('>', '\\u003e'),
    /encoding\/json/,
  ],
  ["the line break of Go's encoder", '{"b":1,"a":2}', '{"a":2,"b":1}\n', /encoding\/json/],
  [
    'sorted keys',
    '{"b":{"d":1,"c":[]},"a":2}',
    '{"a":2,"b":{"c":[],"d":1}}',
    /encoding\/json|sorted/,
  ],
  ['sorted keys of Python', '{"b":1,"a":"é"}', '{"a": "\\u00e9", "b": 1}', /keys sorted/],
].map(([given, body, instead, message]) => ({
  given: given as string,
  request: signedInstead(body as string, instead as string),
  mistake: 're_serialised',
  message: message as RegExp,
}))

const utf8 = Buffer.from(compact)
const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8])

const charsets: readonly Row[] = [
  ['Latin-1 of what is sent as UTF-8', compact, Buffer.from(compact, 'latin1'), /in Latin-1/],
  ['UTF-8 of what is sent as Latin-1', Buffer.from(compact, 'latin1'), utf8, /read as Latin-1/],
  ['UTF-8 of what is sent as UTF-8 twice', utf8.toString('latin1'), utf8, /in Latin-1/],
  ['UTF-8 without the mark that is sent', marked, utf8, /byte order mark/],
  ['UTF-8 with a mark that is not sent', utf8, marked, /byte order mark/],
].map(([given, body, instead, message]) => ({
  given: given as string,
  request: signedInstead(body as string | Buffer, instead as string | Buffer),
  mistake: 'charset',
  message: message as RegExp,
}))

const otherBytes: readonly Row[] = [
  {
    given: 'a line break that is sent but not signed',
    request: signedInstead(`${compact}\n`, compact),
    mistake: 'newline_added',
    message: /A line break was added/,
  },
  {
    given: 'a Windows line break that is sent but not signed',
    request: signedInstead(`${compact}\r\n`, compact),
    mistake: 'newline_added',
    message: /A line break was added/,
  },
  ...['\n', '\r\n'].map((lineBreak) => ({
    given: `${JSON.stringify(lineBreak)} that is signed but not sent`,
    request: signedInstead(compact, `${compact}${lineBreak}`),
    mistake: 'newline_lost' as const,
    message: /line break at the end of the body was lost/,
  })),
  {
    given: 'the first item of a list',
    request: signedInstead(`[${compact},{"type":"page"}]`, compact),
    mistake: 'first_event_only',
    message: /Only the first event/,
  },
  {
    given: 'the first item of a batch',
    request: signedInstead(`{"batch":[${compact},{"type":"page"}]}`, compact),
    mistake: 'first_event_only',
    message: /Only the first event/,
  },
  {
    given: 'nothing',
    request: signedInstead(compact, ''),
    mistake: 'empty_body',
    message: /An empty body was signed/,
  },
  {
    given: 'a compressed body that is inflated on the way',
    request: {
      ...signedInstead(compact, gzipSync(compact, { level: 9 })),
      headers: { 'content-encoding': 'gzip' },
    },
    mistake: 'inflated',
    message: /decompressed before it was verified/,
  },
]

const encoded = Buffer.from('not-a-real-secret-in-base64').toString('base64')
const hexSecret = Buffer.from('not-a-real-secret-in-hex').toString('hex')

function signedWith(key: string | Buffer, expected: string = secret): WrongRequest {
  return { body: compact, signature: sign(compact, key), secret: expected }
}

const keys: readonly Row[] = [
  ...[`${secret}\n`, `${secret}\r\n`, ` ${secret}`, `${secret} `, ` ${secret} `, `${secret}\t`].map(
    (key) => ({
      given: `the secret as ${JSON.stringify(key)}`,
      request: signedWith(key),
      mistake: 'secret_space' as const,
      message: /signature was made with (?:a line break at the end of|white space around)/,
    }),
  ),
  {
    given: 'the secret without the line break that the receiver has',
    request: signedWith(secret, `${secret}\n`),
    mistake: 'secret_space',
    message: /secret has white space around it/,
  },
  ...[`"${secret}"`, `'${secret}'`].map((key) => ({
    given: `the secret as ${key}`,
    request: signedWith(key),
    mistake: 'secret_quotes' as const,
    message: /made with quotes/,
  })),
  {
    given: 'the secret without the quotes that the receiver has',
    request: signedWith(secret, `"${secret}"`),
    mistake: 'secret_quotes',
    message: /has quotes around it/,
  },
  {
    given: 'the secret decoded from base64',
    request: signedWith(Buffer.from(encoded, 'base64'), encoded),
    mistake: 'secret_decoded',
    message: /decoded from base64/,
  },
  {
    given: 'the secret decoded from hexadecimal digits',
    request: signedWith(Buffer.from(hexSecret, 'hex'), hexSecret),
    mistake: 'secret_decoded',
    message: /decoded from hexadecimal digits/,
  },
  {
    given: 'the secret decoded as in Standard Webhooks',
    request: signedWith(Buffer.from(encoded, 'base64'), `whsec_${encoded}`),
    mistake: 'secret_decoded',
    message: /decoded from base64/,
  },
  {
    given: 'the secret without its whsec_',
    request: signedWith(encoded, `whsec_${encoded}`),
    mistake: 'secret_decoded',
    message: /without its prefix whsec_/,
  },
]

const elsewhere: readonly Row[] = [
  {
    given: 'Standard Webhooks alone',
    request: { body: compact, headers: { 'webhook-signature': 'v1,bm90IHJlYWw=' } },
    mistake: 'standard_webhooks',
    message: /only a Standard Webhooks signature/,
  },
  {
    given: 'a different header',
    request: { body: compact, headers: { 'X-Hub-Signature-256': `sha256=${'0'.repeat(64)}` } },
    mistake: 'other_header',
    message: /x-hub-signature-256 instead of X-Signature/,
  },
]

const together: readonly Row[] = [
  {
    given: 'SHA-256 in base64',
    request: {
      body: compact,
      signature: hmac(compact, 'sha256').toString('base64'),
    },
    mistake: 'sha256+base64',
    message: /^The signature is an HMAC-SHA256 .*; the signature is in base64/,
  },
  {
    given: 'a prefix, SHA-256, and re-serialised JSON',
    request: {
      body: compact,
      signature: `sha256=${hmac(python(compact), 'sha256').toString('hex')}`,
    },
    mistake: 'prefix+sha256+re_serialised',
    message: /begins with "sha256="; .*; the body was re-serialised/,
  },
  {
    given: 'a line break that is sent, and one at the end of the secret',
    request: { body: `${compact}\n`, signature: sign(compact, `${secret}\n`) },
    mistake: 'newline_added+secret_space',
    message: /A line break was added/,
  },
]

const rows = [
  ...looks,
  ...jsonTexts,
  ...charsets,
  ...otherBytes,
  ...keys,
  ...elsewhere,
  ...together,
]

async function receive({ body, signature, ...request }: WrongRequest): Promise<ReceivedEvent> {
  const { receiver, url } = await start({ secret: request.secret ?? secret })
  const signatures = signature === undefined ? {} : { 'x-signature': signature }
  await post(url, body, { ...request.headers, ...signatures })
  return receiver.events[0]!
}

test.each(rows)('$given is diagnosed as $mistake', async ({ request, mistake, message }) => {
  const { diagnosis, reason, signature } = await receive(request)
  expect(diagnosis!.mistake).toBe(mistake)
  expect(diagnosis!.message).toMatch(message)
  expect(diagnosis!.fix).toMatch(/^[A-Z].*\.$/)
  expect(reason).toContain(diagnosis!.message)
  expect(signature).toBe(request.signature === undefined ? 'missing' : 'invalid')
  expect(JSON.stringify(diagnosis)).not.toContain(secret)
  expect(JSON.stringify(diagnosis)).not.toMatch(/[0-9a-f]{40}/)
})

const noMistakes: readonly (WrongRequest & { readonly given: string })[] = [
  { given: 'an unknown secret', ...signedWith('an-unknown-secret') },
  { given: 'no digest', body: compact, signature: 'certainly no signature' },
  { given: 'the wrong length for a digest', body: compact, signature: 'abcd' },
  { given: 'a body that is not JSON', ...signedInstead('{"a":', 'other bytes') },
  {
    given: 'JSON that is too deep to be re-serialised',
    ...signedInstead('['.repeat(20_000) + ']'.repeat(20_000), 'other bytes'),
  },
  {
    given: 'JSON whose keys are too deep to be sorted',
    ...signedInstead('{"a":['.repeat(2_000) + ']}'.repeat(2_000), 'other bytes'),
  },
  {
    given: 'a body that only looks like gzip',
    ...signedInstead(Buffer.from([0x1f, 0x8b, 0]), 'other bytes'),
  },
  {
    given: 'a compressed body with its Content-Encoding',
    ...signedInstead(gzipSync(compact), 'other bytes'),
    headers: { 'content-encoding': 'gzip' },
  },
  {
    given: 'a signature of compressed bytes for a body that is not compressed',
    ...signedInstead(compact, gzipSync(compact)),
  },
]

test.each(noMistakes)('$given has no diagnosis', async (request) => {
  const event = await receive(request)
  expect(event).toMatchObject({ signature: 'invalid', diagnosis: null })
  expect(event.reason).toContain('X-Signature')
})
