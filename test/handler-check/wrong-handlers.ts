import { signBody } from '../../src/webhook/index.ts'
import {
  comparing,
  correct,
  hmac,
  isEqualOrThrows,
  secret,
  sha1,
  typeOf,
  type WrongHandler,
} from './handlers.ts'

import { looseHandlers } from './loose-handlers.ts'

const parsed = (rawBody: Buffer): unknown => JSON.parse(rawBody.toString())
const stringified = (rawBody: Buffer): string => JSON.stringify(parsed(rawBody))
const rewritten = (rewrite: (text: string) => string) =>
  comparing((rawBody) => signBody(rewrite(rawBody.toString()), secret))
const joiningChunks =
  (join: (chunks: readonly Buffer[]) => string): WrongHandler['handle'] =>
  ({ headers, chunks }) =>
    headers['x-signature'] === signBody(join(chunks), secret) ? 200 : 401
const escapedBeyondAscii = (text: string): string =>
  text.replace(
    /[\u0080-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
const python = (text: string): string => text.replaceAll('":', '": ').replaceAll(',"', ', "')

/** Each of these mistakes makes the handler accept or refuse nearly everything. */
const grave: readonly WrongHandler[] = [
  {
    given: 'answers 200 to everything',
    handle: () => 200,
    code: 'does_not_verify',
    message: /does not verify signatures/,
    cases: ['wrong-secret', 'missing-header', 'forged-identify'],
  },
  {
    given: 'checks only that there is a signature',
    handle: ({ headers }) => ((headers['x-signature'] ?? '') === '' ? 401 : 200),
    code: 'checks_presence_only',
    message: /checks only that one is present/,
    cases: ['wrong-secret', 'upper-case', 'forged-delete'],
  },
  {
    given: 'answers 404 to everything',
    handle: () => 404,
    code: 'not_found',
    message: /everything with 404: there is no handler at this path/,
    cases: ['plain', 'type-page'],
  },
  {
    given: 'does not accept POST',
    handle: () => 405,
    code: 'method_refused',
    message: /does not accept POST/,
    cases: ['plain'],
  },
  {
    given: 'does not accept JSON',
    handle: () => 415,
    code: 'media_type_refused',
    message: /media type/,
    cases: ['plain'],
  },
  {
    given: 'redirects everything',
    handle: () => 'redirect',
    code: 'redirects',
    message: /everything with 308: senders do not follow redirects/,
    cases: ['plain'],
  },
  {
    given: 'fails on everything',
    handle: () => 500,
    code: 'fails',
    message: /fails on every webhook/,
    cases: ['plain', 'type-group'],
  },
  {
    given: 'has a different secret',
    handle: comparing((rawBody) => signBody(rawBody, 'another')),
    code: 'wrong_secret',
    message: /refuses every valid signature/,
    cases: ['plain', 'pretty', 'type-alias'],
  },
  {
    given: 'compares bytes with text, which are never equal',
    handle: ({ headers, rawBody }) =>
      Object.is(Buffer.from(signBody(rawBody, secret)), headers['x-signature']) ? 200 : 401,
    code: 'wrong_secret',
    message: /or it compares text with bytes/,
    cases: ['plain', 'pretty', 'type-alias'],
  },
  {
    given: 'has an empty secret',
    handle: comparing((rawBody) => signBody(rawBody, '')),
    code: 'wrong_secret',
    message: /secret is empty/,
    cases: ['plain', 'empty-secret'],
  },
  {
    given: 'has the secret "undefined"',
    handle: comparing((rawBody) => signBody(rawBody, 'undefined')),
    code: 'wrong_secret',
    message: /the text "undefined"/,
    cases: ['plain', 'undefined-secret'],
  },
  {
    given: 'has a line break after its secret',
    handle: comparing((rawBody) => signBody(rawBody, `${secret}\n`)),
    code: 'wrong_secret',
    message: /secret ends in a line break/,
    cases: ['plain', 'newline-secret'],
  },
  {
    given: 'reads X-Hub-Signature',
    handle: ({ headers, rawBody }) =>
      headers['x-hub-signature'] === signBody(rawBody, secret) ? 200 : 401,
    code: 'wrong_header',
    message: /a different header, such as X-Hub-Signature/,
    cases: ['plain', 'other-header'],
  },
  {
    given: 'hashes without the secret',
    handle: comparing(sha1),
    code: 'wrong_signature',
    message: /hashes the body without the secret/,
    cases: ['plain', 'no-secret'],
  },
  {
    given: 'swaps key and message',
    handle: comparing((rawBody) => hmac('sha1', rawBody, secret).toString('hex')),
    code: 'wrong_signature',
    message: /swaps the arguments/,
    cases: ['plain', 'swapped'],
  },
  {
    given: 'reads the body after other code has read it',
    handle: comparing(() => signBody('', secret)),
    code: 'wrong_signature',
    message: /empty body/,
    cases: ['plain', 'empty-body'],
  },
  {
    given: 'verifies [object Object]',
    handle: comparing((rawBody) => signBody(String(parsed(rawBody)), secret)),
    code: 'wrong_signature',
    message: /\[object Object\]/,
    cases: ['plain', 'object-body'],
  },
  {
    given: 'expects base64',
    handle: comparing((rawBody) => hmac('sha1', secret, rawBody).toString('base64')),
    code: 'wrong_signature',
    message: /in base64/,
    cases: ['plain', 'base64'],
  },
  {
    given: 'expects SHA-256',
    handle: comparing((rawBody) => hmac('sha256', secret, rawBody).toString('hex')),
    code: 'wrong_signature',
    message: /HMAC-SHA256/,
    cases: ['plain', 'sha256'],
  },
  {
    given: 'expects upper case',
    handle: comparing((rawBody) => signBody(rawBody, secret).toUpperCase()),
    code: 'wrong_signature',
    message: /upper case/,
    cases: ['plain', 'upper-case'],
  },
  {
    given: 'expects sha1= before the digits',
    handle: comparing((rawBody) => `sha1=${signBody(rawBody, secret)}`),
    code: 'wrong_signature',
    message: /expects sha1=/,
    cases: ['plain', 'prefix'],
  },
  {
    given: 'never answers',
    handle: () => 'hang',
    code: 'too_slow',
    message: /not answer valid webhooks in time/,
    cases: ['plain'],
  },
]

const bytes: readonly WrongHandler[] = [
  {
    given: 'verifies JSON.stringify of the parsed body',
    handle: comparing((rawBody) => signBody(stringified(rawBody), secret)),
    code: 're_serialised',
    message: /JSON\.stringify of the parsed body, not the bytes/,
    cases: ['spaced', 'escaped', 'pretty', 'crlf', 'newline', 'numbers', 'altered-space'],
  },
  {
    given: 'verifies JSON.stringify of the parsed body, and throws if parsing fails',
    handle: ({ headers, rawBody }) => {
      if (headers['x-signature'] === signBody(stringified(rawBody), secret)) return 200
      throw new Error('wrong signature')
    },
    code: 're_serialised',
    codes: ['re_serialised', 'throws'],
    message: /JSON\.stringify of the parsed body/,
    cases: ['spaced', 'numbers', 'altered-space'],
  },
  {
    given: "verifies Python's json.dumps",
    handle: comparing((rawBody) => signBody(python(stringified(rawBody)), secret)),
    code: 're_serialised',
    message: /json\.dumps/,
    cases: ['plain', 'escaped', 'type-page'],
  },
  {
    given: "verifies PHP's json_encode",
    handle: rewritten((text) =>
      escapedBeyondAscii(JSON.stringify(JSON.parse(text)).replaceAll('/', '\\/')),
    ),
    code: 're_serialised',
    message: /json_encode/,
    cases: ['plain', 'spaced', 'unicode'],
  },
  {
    given: "verifies Python's json.dumps without spaces",
    handle: rewritten((text) => escapedBeyondAscii(JSON.stringify(JSON.parse(text)))),
    code: 're_serialised',
    message: /the parsed body, serialised again/,
    cases: ['spaced', 'unicode', 'split'],
  },
  {
    given: 'verifies a struct with keys in its own order',
    handle: comparing((rawBody) => {
      const { version, type, ...rest } = parsed(rawBody) as Record<string, unknown>
      return signBody(JSON.stringify({ version, type, ...rest }), secret)
    }),
    code: 're_serialised',
    message: /JSON\.stringify/,
    cases: ['reordered', 'spaced'],
  },
  {
    given: 'trims the body',
    handle: rewritten((text) => text.trim()),
    code: 'line_break_lost',
    message: /removes the line break/,
    cases: ['newline'],
  },
  {
    given: 'reads the body line by line',
    handle: rewritten((text) => text.replaceAll('\r\n', '\n')),
    code: 'line_ends_changed',
    message: /changes the line endings/,
    cases: ['crlf'],
  },
  {
    given: 'reads the body as Latin-1',
    handle: comparing((rawBody) => signBody(rawBody.toString('latin1'), secret)),
    code: 'charset',
    message: /a different charset/,
    cases: ['unicode', 'split'],
  },
  {
    given: 'appends each chunk to a text',
    handle: joiningChunks((chunks) => chunks.reduce((text, chunk) => text + String(chunk), '')),
    code: 'chunks_decoded',
    message: /turns each chunk of a body into text/,
    cases: ['split'],
  },
  {
    given: 'decodes each chunk, and fails if it ends within a character',
    handle: ({ headers, chunks }) => {
      const decode = (chunk: Buffer): string =>
        new TextDecoder('utf-8', { fatal: true }).decode(chunk)
      return headers['x-signature'] === signBody(chunks.map(decode).join(''), secret) ? 200 : 401
    },
    code: 'chunks_decoded',
    message: /turns each chunk of a body into text/,
    cases: ['split'],
  },
  {
    given: 'verifies the first chunk only',
    handle: joiningChunks(([first = '']) => String(first)),
    code: 'part_verified',
    message: /verifies only a part of a body that arrives in several/,
    cases: ['parts', 'split'],
  },
]

const refusing: readonly WrongHandler[] = [
  {
    given: 'parses the body first, and crashes if it is not JSON',
    handle: (request) => {
      try {
        return typeOf(request) === '' ? 400 : correct(request)
      } catch {
        return 'hang-up'
      }
    },
    code: 'parses_first',
    message: /parses the body before it verifies the signature/,
    cases: ['not-json'],
  },
  {
    given: 'compares the lengths of texts, not of bytes, and throws if the bytes differ',
    handle: ({ headers, rawBody }) => {
      const header = String(headers['x-signature'])
      const right = signBody(rawBody, secret)
      const isSame = header.length === right.length && isEqualOrThrows(header, right, 'utf8')
      return isSame ? 200 : 401
    },
    code: 'throws',
    message: /with an error status/,
    cases: ['not-ascii'],
  },
  {
    given: 'throws if the length differs',
    handle: ({ headers, rawBody }) =>
      isEqualOrThrows(String(headers['x-signature'] ?? ''), signBody(rawBody, secret)) ? 200 : 401,
    code: 'throws',
    message: /with an error status/,
    codes: ['form_ignored', 'form_ignored', 'throws'],
    cases: ['missing-header', 'not-hex', 'truncated'],
  },
  {
    given: 'hangs up on wrong signatures',
    handle: (request) => (correct(request) === 200 ? 200 : 'hang-up'),
    code: 'hangs_up',
    message: /closes the connection/,
    cases: ['wrong-secret', 'forged-delete'],
  },
  {
    given: 'never answers wrong signatures',
    handle: (request) => (correct(request) === 200 ? 200 : 'hang'),
    code: 'hangs',
    message: /sends no answer to wrong signatures/,
    cases: ['wrong-secret', 'altered-byte'],
  },
  {
    given: 'refuses some types',
    handle: (request) => (typeOf(request) === 'alias' ? 400 : correct(request)),
    code: 'types_refused',
    message: /of some types/,
    cases: ['type-alias'],
  },
  {
    given: 'verifies, but refuses some values',
    handle: (request) => (request.rawBody.includes('1e3') ? 422 : correct(request)),
    code: 'refuses_right',
    message: /refuses valid webhooks/,
    cases: ['numbers'],
  },
  {
    given: 'redirects some webhooks',
    handle: (request) =>
      correct(request) === 200 && typeOf(request) === 'page' ? 'redirect' : correct(request),
    code: 'redirects',
    message: /redirects valid webhooks/,
    cases: ['type-page'],
  },
  {
    given: 'does not accept large bodies',
    handle: (request) => (request.rawBody.length > 16_384 ? 413 : correct(request)),
    code: 'body_limit',
    message: /32 KB/,
    cases: ['large'],
  },
]

/** Handlers with one mistake each. */
export const wrongHandlers: readonly WrongHandler[] = [
  ...grave,
  ...bytes,
  ...looseHandlers,
  ...refusing,
]
