import { failureText } from '../model/index.ts'
import type { Explanation, MistakeText } from './evidence.ts'
import type { Reaction } from './verdict.ts'

const rawFix =
  'Keep the bytes that arrive and verify them before anything parses them: ' +
  'express.raw({ type: () => true }) in express, request.get_data() in Flask, php://input in PHP, request.raw_post in Rails.'
const missingSecretFix =
  'Set the environment variable to the secret, and make the handler refuse to start without it.'
const compareFix =
  'Compute 40 lower-case hexadecimal digits, and compare the whole header with them in constant time.'
const shape =
  'X-Signature is the HMAC-SHA1 of the raw body, as 40 lower-case hexadecimal digits without a prefix.'

/** Describes a handler that cannot be reached. */
export function cannotBeReached(error: string): MistakeText {
  const [, fix = 'Start it, and check the URL.'] =
    connectionFixes.find(([errors]) => errors.test(error)) ?? []
  return ['unreachable', `It cannot be reached: ${failureText(error)}.`, fix]
}

const connectionFixes: readonly (readonly [errors: RegExp, fix: string])[] = [
  [/^ECONNREFUSED$/, 'Start it, and check the port in the URL.'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'Check the host name in the URL.'],
  [/WRONG_VERSION_NUMBER$|^EPROTO$/, 'Write http:// in the URL, or use the port for https.'],
  [
    /^(connection_closed|malformed_answer)$/,
    "Write https:// in the URL if the port speaks https. Otherwise, read the handler's log.",
  ],
  [
    /CERT|HOSTNAME_MISMATCH/,
    'Check the handler over http, or set NODE_EXTRA_CA_CERTS to a file with its CA certificate. ' +
      "The handler's certificate must be valid for the host in the URL.",
  ],
]

/** Describes a handler that could no longer be reached after a case. */
export function hasCrashed(afterCase: string, error: string): MistakeText {
  const message = `It could not be reached after the case ${afterCase}: ${failureText(error)}. It probably crashed.`
  return ['crashed', message, 'Catch exceptions from the verification, and answer 401.']
}

/** Explains why a handler answers every case with the same status; undefined if the status has no known explanation. */
export function statusTexts(status: number, reaction: Reaction): MistakeText | undefined {
  const answered = `It answers everything with ${status}`
  if (status === 404 || status === 410) {
    return ['not_found', `${answered}: there is no handler at this path.`, 'Check the URL.']
  }
  if (status === 405) {
    return ['method_refused', `${answered}: it does not accept POST.`, 'Handle POST at this path.']
  }
  if (status === 415) {
    const fix = 'Accept bodies of type application/json, as bytes.'
    return ['media_type_refused', `${answered}: it refuses the media type of webhooks.`, fix]
  }
  if (reaction === 'redirected') {
    const fix = 'Pass the URL that it redirects to. It often has https or a trailing slash.'
    return ['redirects', `${answered}: senders do not follow redirects.`, fix]
  }
  return undefined
}

/** Mistakes of handlers that accept forged webhooks. */
export const forgeryTexts = {
  doesNotVerify: [
    'does_not_verify',
    'It accepts forged webhooks: it does not verify signatures.',
    'Verify X-Signature over the raw body before you use the body. `evroute check --language` prints a handler that does. ' +
      '`evroute listen` accepts forged webhooks too: check your own handler instead.',
  ],
  checksPresenceOnly: [
    'checks_presence_only',
    'It accepts any signature: it checks only that one is present.',
    'Compare the signature with the HMAC-SHA1 of the raw body. `evroute check --language` prints a handler that does.',
  ],
  unsigned: [
    'takes_unsigned',
    'It accepts webhooks without a signature.',
    'Refuse a webhook whose X-Signature is missing or empty.',
  ],
  malformed: [
    'takes_malformed',
    'It accepts signatures that do not have 40 characters. The comparison probably throws, and it then answers 200.',
    'Answer 401 if the verification throws. ' + compareFix,
  ],
  someTypes: [
    'verifies_some_types',
    'It accepts forged webhooks of some types: it verifies signatures only for other types.',
    'Verify the signature before you look at the type.',
  ],
} satisfies Record<string, MistakeText>

/** Describes a handler that accepts a forged webhook, if no known mistake explains it. */
export function takesForged(about: string): MistakeText {
  return [
    'takes_forged',
    `It accepts a webhook ${about}.`,
    `Refuse it with 401. ${shape} ${compareFix}`,
  ]
}

/** Mistakes in computing the signature, by the id of the case that shows the mistake; `unknown` if no case does. */
export const keyTexts: Readonly<Record<string, MistakeText>> & { readonly unknown: MistakeText } = {
  'empty-secret': ['wrong_secret', 'Its secret is empty.', missingSecretFix],
  'undefined-secret': ['wrong_secret', 'Its secret is the text "undefined".', missingSecretFix],
  'no-secret': wrongSignature(
    'It hashes the body without the secret, so anybody can forge signatures.',
    "Use an HMAC, such as createHmac('sha1', secret) in Node, instead of createHash('sha1').",
  ),
  swapped: wrongSignature(
    'It swaps the arguments of the HMAC: it uses the body as the key.',
    'Use the secret as the key, and the raw body as the message.',
  ),
  'empty-body': wrongSignature(
    'It verifies an empty body: something else has already read the body.',
    rawFix,
  ),
  'object-body': wrongSignature(
    'It verifies the text "[object Object]" instead of the body.',
    rawFix,
  ),
  'newline-secret': [
    'wrong_secret',
    'Its secret ends in a line break.',
    'Remove the line break when you read the secret from a file or a variable.',
  ],
  'other-header': [
    'wrong_header',
    'It reads the signature from a different header, such as X-Hub-Signature.',
    'Read X-Signature.',
  ],
  base64: wrongSignature(
    'It expects the signature in base64.',
    `Write the digest as hexadecimal digits: digest('hex') in Node, hexdigest() in Python. ${shape}`,
  ),
  sha256: wrongSignature('It expects an HMAC-SHA256.', `Compute the HMAC with SHA-1. ${shape}`),
  'upper-case': wrongSignature(
    'It expects the signature in upper case.',
    `Do not convert the digits to upper case. ${shape}`,
  ),
  prefix: wrongSignature(
    'It expects sha1= before the signature.',
    `Compare only the digits. ${shape}`,
  ),
  unknown: [
    'wrong_secret',
    'It refuses every valid signature. Either its secret is different, or it reads a header other ' +
      'than X-Signature, or it compares text with bytes, or it does not verify the bytes that arrive.',
    'For one webhook, log the length of the secret, the value of X-Signature, and the length of the ' +
      'body that is verified. `evroute verify` can then check the same body. In Python, text never equals bytes.',
  ],
}

function wrongSignature(message: string, fix: string): MistakeText {
  return ['wrong_signature', message, fix]
}

/** The encoder of a handler that wrongly verifies the body after parsing and serialising it. */
export type Rewriter = 'node' | 'python' | 'php' | 'other'

const reSerialisedBy: Readonly<Record<Rewriter, string>> = {
  node: 'JSON.stringify of the parsed body',
  python: "Python's json.dumps of the parsed body",
  php: "PHP's json_encode of the parsed body",
  other: 'the parsed body, serialised again',
}

/** Describes a handler that verifies a body that it has parsed and serialised again. */
export function reSerialises(rewriter: Rewriter): MistakeText {
  const message = `It verifies ${reSerialisedBy[rewriter]}, not the bytes that arrive.`
  return ['re_serialised', message, rawFix]
}

/** Mistakes of handlers that change the bytes before they verify them. */
export const bodyTexts = {
  lineBreakLost: [
    'line_break_lost',
    'It removes the line break at the end of a body before it verifies the signature.',
    `Do not trim the body. ${rawFix}`,
  ],
  lineEndingsChanged: [
    'line_ends_changed',
    'It changes the line endings of a body before it verifies the signature.',
    `Read the body as bytes, not as lines of text. ${rawFix}`,
  ],
  charset: [
    'charset',
    'It decodes the body in a different charset before it verifies the signature.',
    `Do not decode the body before you verify it, or decode it only as UTF-8. ${rawFix}`,
  ],
} satisfies Record<string, MistakeText>

/** Mistakes in comparing signatures, by the case that the handler accepts. */
export const compareTexts: Readonly<Record<string, MistakeText>> = {
  truncated: [
    'part_compared',
    'It accepts a truncated signature: it compares only the beginning.',
    compareFix,
  ],
  list: formIgnored('It searches the whole header for the right signature.', compareFix),
  longer: formIgnored('It ignores everything after the digits of a signature.', compareFix),
  'upper-case': formIgnored(
    'It accepts signatures in upper case.',
    'Compare the header exactly as received, without decoding or lower-casing it.',
  ),
  prefix: formIgnored('It accepts sha1= before a signature.', 'Compare the header as it is.'),
  'white-space': formIgnored(
    'It accepts a space within a signature.',
    'Compare the header as it is.',
  ),
  'other-header': formIgnored(
    'It accepts a signature in a different header, such as X-Hub-Signature.',
    'Read only X-Signature.',
  ),
  base64: formIgnored('It accepts signatures in base64.', 'Accept only hexadecimal digits.'),
  sha256: formIgnored('It accepts HMAC-SHA256 in X-Signature.', 'Accept only HMAC-SHA1.'),
}

function formIgnored(message: string, fix: string): MistakeText {
  const note = 'This is not a security risk, but the specification allows only one form.'
  return ['form_ignored', `${message} ${note}`, fix]
}

/** Mistakes that lose valid webhooks. The first one that matches a verdict explains it. */
export const lossExplanations: readonly Explanation[] = [
  [
    ({ id, reaction }) => reaction === 'refused' && id.startsWith('type-'),
    'types_refused',
    'It refuses valid webhooks of some types.',
    'Answer 200 to types that you do not use, or pass --type for each type that you use.',
  ],
  [
    ({ id, reaction }) => reaction === 'refused' && id === 'repeated',
    'repeats_refused',
    'It refuses a webhook that arrives a second time. Senders repeat a webhook if the answer gets lost.',
    'If you have already handled the messageId, answer 200 and do nothing else.',
  ],
  [
    ({ id }, evidence) =>
      (id === 'parts' || (id === 'split' && evidence.had('parts', 'wrong'))) &&
      !evidence.had('plain', 'wrong'),
    'part_verified',
    'It verifies only a part of a body that arrives in several packets.',
    'Wait until the whole body has arrived: the `end` event, or `await buffer(request)` in Node. Then verify all of it.',
  ],
  [
    ({ id }, evidence) => id === 'split' && !evidence.had('plain', 'wrong'),
    'chunks_decoded',
    'It turns each chunk of a body into text, which destroys a character that is split between two chunks.',
    'Collect the chunks as bytes and verify these: Buffer.concat(chunks) in Node, instead of `body += chunk`. ' +
      "If you need text, call request.setEncoding('utf8') first.",
  ],
  [
    ({ id, status }, evidence) =>
      id === 'large' && status !== null && !evidence.had('plain', 'wrong'),
    'body_limit',
    'It does not accept a body of 32 KB, the size of the largest call.',
    'Raise the limit of the body parser to 1 MB, because a webhook can be larger than the call it is made from.',
  ],
  [
    ({ reaction }) => reaction === 'timeout',
    'too_slow',
    'It does not answer valid webhooks in time.',
    'Store the webhook, answer 200, and process it afterwards.',
  ],
  [
    ({ reaction }) => reaction === 'redirected',
    'redirects',
    'It redirects valid webhooks: senders do not follow redirects.',
    'Answer 200 at the URL itself.',
  ],
  [
    ({ reaction }) => reaction === 'failed' || reaction === 'closed',
    'fails',
    'It fails on valid webhooks. Senders retry them for 4 hours.',
    "Read the handler's log.",
  ],
  [
    () => true,
    'refuses_right',
    'It refuses valid webhooks.',
    'Answer 200 to every webhook with a valid signature.',
  ],
]

/** Describes a handler that fails whether or not the signature is right. */
export const failsOnEverything: MistakeText = [
  'fails',
  'It fails on every webhook, whether or not its signature is right. Senders retry them for 4 hours.',
  "Read the handler's log. A secret that is not set is a common reason.",
]

/** Describes a handler that does not answer a forged webhook if its body is not JSON. */
export const parsesFirst: MistakeText = [
  'parses_first',
  'It parses the body before it verifies the signature: it fails if a forged body is not JSON.',
  'Verify the bytes that arrive, answer 401 if the signature is wrong, and only then parse the body.',
]

/** Mistakes in refusing invalid webhooks, by the handler's reaction. */
export const refusalTexts: Readonly<Partial<Record<Reaction, MistakeText>>> = {
  failed: [
    'throws',
    'It answers wrong signatures with an error status. Senders retry those webhooks for 4 hours.',
    'Answer 401, and check the form of the header first. timingSafeEqual in Node throws if the numbers of bytes differ, ' +
      'and compare_digest in Python throws if a text is not ASCII.',
  ],
  closed: [
    'hangs_up',
    'It closes the connection on wrong signatures. Senders retry those webhooks for 4 hours.',
    'Answer 401.',
  ],
  timeout: [
    'hangs',
    'It sends no answer to wrong signatures. Senders retry those webhooks for 4 hours.',
    'Answer 401, even if the verification throws.',
  ],
}
