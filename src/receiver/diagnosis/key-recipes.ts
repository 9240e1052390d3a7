import { shortText } from '../../model/index.ts'
import type { Mistake } from './mistake.ts'

/** The secrets for verifying and diagnosing signatures. */
export interface Secrets {
  /** The shared secret that should have been used. */
  readonly secret: string
  /** Secrets that may have been used by mistake; the first 50 are tried. */
  readonly otherSecrets?: readonly NamedSecret[] | undefined
}

/** A secret that belongs to a different owner. */
export interface NamedSecret {
  /** The owner of the secret, such as the id of a destination. */
  readonly name: string
  readonly secret: string
}

/** A mistake with the secret, and the key that a sender uses because of it. */
export interface KeyRecipe extends Mistake {
  readonly key: Buffer
  /** Whether to try this mistake only alone, because a sender is unlikely to make one in the body too. */
  readonly isAlone?: boolean
}

const otherSecretsMax = 50

const fixes = {
  secret_space:
    'Use the secret without surrounding white space and line breaks, in the sender and in the receiver.',
  secret_quotes: 'Use the secret without the quotes around it, in the sender and in the receiver.',
  secret_missing:
    'Set the variable for the secret in the sender. Make it refuse to start without a secret.',
  secret_decoded: 'Use the text of the secret, encoded as UTF-8, as the key.',
  other_secret: 'Use the same secret on both sides.',
} as const

/** Makes the recipes for mistakes with a secret. Likely ones come first. */
export function keyRecipes({ secret, otherSecrets = [] }: Secrets): readonly KeyRecipe[] {
  const made = 'The signature was made with'
  const [trimmed, unquoted, bare] = [
    secret.trim(),
    /^(["'`])(.+)\1$/s.exec(secret.trim())?.[2],
    /^whsec_(.+)$/.exec(secret)?.[1],
  ]
  const encoded = bare ?? secret
  const isBase64 = /^[\w+/-]+={0,2}$/.test(encoded)
  const isHex = /^(?:[0-9a-f]{2})+$/i.test(encoded)
  const decodedFrom = (encoding: string): string =>
    `The secret was decoded from ${encoding} before the signature was made`
  return [
    ...recipes(
      'secret_space',
      'The secret has white space around it, but the signature was made with the trimmed secret',
      [trimmed === secret ? undefined : trimmed],
    ),
    ...recipes(
      'secret_quotes',
      'The secret has quotes around it, but the signature was made without them',
      [unquoted],
    ),
    ...missing,
    ...otherSecrets
      .slice(0, otherSecretsMax)
      .flatMap((other) =>
        recipes('other_secret', `${made} the secret of ${shortText(other.name)}`, [other.secret]),
      ),
    ...recipes('secret_space', `${made} a line break at the end of the secret`, [
      `${secret}\n`,
      `${secret}\r\n`,
    ]),
    ...recipes('secret_space', `${made} white space around the secret`, [
      ...[`${secret} `, ` ${secret}`, ` ${secret} `, `${secret}\t`],
    ]),
    ...recipes('secret_quotes', `${made} quotes around the secret`, [`"${secret}"`, `'${secret}'`]),
    ...recipes('secret_decoded', decodedFrom('base64'), [
      isBase64 ? Buffer.from(encoded, 'base64') : undefined,
    ]),
    ...recipes('secret_decoded', decodedFrom('hexadecimal digits'), [
      isHex ? Buffer.from(encoded, 'hex') : undefined,
    ]),
    ...recipes('secret_decoded', `${made} the secret without its prefix whsec_`, [bare]),
  ]
}

/** The keys of senders that don't notice that their secret is missing. */
const missing: readonly KeyRecipe[] = ['', 'undefined', 'null', 'None'].flatMap((text) => {
  const used = text === '' ? 'an empty secret' : `the text "${text}" as the secret`
  const made = recipes('secret_missing', `The signature was made with ${used}`, [text])
  return made.map((recipe) => ({ ...recipe, isAlone: true }))
})

/** Makes a recipe for each key. Skips undefined keys: those mistakes are impossible with this secret. */
function recipes(
  code: keyof typeof fixes,
  finding: string,
  keys: readonly (string | Buffer | undefined)[],
): readonly KeyRecipe[] {
  return keys
    .filter((key) => key !== undefined)
    .map((key) => ({ code, finding, fix: fixes[code], key: Buffer.from(key) }))
}
