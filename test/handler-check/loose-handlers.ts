import { signBody } from '../../src/webhook/index.ts'
import {
  correctExcept,
  hmac,
  isEqualOrThrows,
  secret,
  typeOf,
  type WrongHandler,
} from './handlers.ts'

/** Handlers that compare signatures loosely. */
export const looseHandlers: readonly WrongHandler[] = [
  {
    given: 'accepts webhooks without a signature',
    handle: correctExcept((_, signature) => signature === ''),
    code: 'takes_unsigned',
    message: /without a signature/,
    cases: ['missing-header', 'empty-header', 'other-header'],
  },
  {
    given: 'also accepts a signature in X-Hub-Signature',
    handle: correctExcept(({ headers }, _, right) => headers['x-hub-signature'] === right),
    code: 'form_ignored',
    message: /a different header/,
    cases: ['other-header'],
  },
  {
    given: 'verifies only some types',
    handle: correctExcept((request) => ['identify', 'delete'].includes(String(typeOf(request)))),
    code: 'verifies_some_types',
    message: /forged webhooks of some types/,
    cases: ['forged-identify', 'forged-delete'],
  },
  {
    given: 'compares only as many digits as the header has',
    handle: correctExcept((_, signature, right) => signature !== '' && right.startsWith(signature)),
    code: 'part_compared',
    message: /compares only the beginning/,
    cases: ['truncated'],
  },
  {
    given: 'answers 200 if the comparison throws',
    handle: correctExcept((_, signature, right) => {
      try {
        return isEqualOrThrows(signature, right, 'utf8')
      } catch {
        return true
      }
    }),
    code: 'takes_malformed',
    message: /accepts signatures that do not have 40 characters/,
    cases: ['missing-header', 'truncated', 'longer', 'prefix', 'base64', 'sha256', 'not-ascii'],
  },
  {
    given: 'reads only the first of several signatures',
    handle: correctExcept((_, signature, right) => signature.split(', ')[0] === right),
    code: 'form_ignored',
    message: /ignores everything after/,
    cases: ['longer'],
  },
  {
    given: 'ignores characters after the signature',
    handle: correctExcept((_, signature, right) => signature.startsWith(right)),
    code: 'form_ignored',
    message: /ignores everything after/,
    cases: ['longer'],
  },
  {
    given: 'searches the whole header for the signature',
    handle: correctExcept((_, signature, right) => signature.split(', ').includes(right)),
    code: 'form_ignored',
    codes: ['form_ignored', 'form_ignored'],
    message: /searches the whole header/,
    cases: ['list'],
  },
  {
    given: 'ignores the case of digits',
    handle: correctExcept((_, signature, right) => signature.toLowerCase() === right),
    code: 'form_ignored',
    message: /upper case/,
    cases: ['upper-case'],
  },
  {
    given: 'ignores a prefix',
    handle: correctExcept((_, signature, right) => signature === `sha1=${right}`),
    code: 'form_ignored',
    message: /sha1= before/,
    cases: ['prefix'],
  },
  {
    given: 'ignores spaces',
    handle: correctExcept((_, signature, right) => signature.replaceAll(' ', '') === right),
    code: 'form_ignored',
    message: /a space within/,
    cases: ['white-space'],
  },
  {
    given: 'also accepts base64',
    handle: correctExcept(
      (_, signature, right) =>
        signature.endsWith('=') && Buffer.from(signature, 'base64').toString('hex') === right,
    ),
    code: 'form_ignored',
    message: /in base64/,
    cases: ['base64'],
  },
  {
    given: 'also accepts SHA-256',
    handle: correctExcept(
      ({ rawBody }, signature) => signature === hmac('sha256', secret, rawBody).toString('hex'),
    ),
    code: 'form_ignored',
    message: /HMAC-SHA256/,
    cases: ['sha256'],
  },
  {
    given: 'does not notice a changed user id',
    handle: ({ headers, rawBody }) => {
      const of = (text: string): string => signBody(text, secret)
      const text = rawBody.toString()
      const signatures = ['u_sample', 'u_samplo', 'u_sampla'].map((user) =>
        of(text.replace('u_sampla', user)),
      )
      return signatures.includes(String(headers['x-signature'])) ? 200 : 401
    },
    code: 'takes_forged',
    message: /with a byte changed after it was signed/,
    cases: ['altered-byte'],
  },
]
