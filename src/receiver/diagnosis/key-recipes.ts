import { shortText } from '../../model/index.ts'
import type { Mistake, MistakeCode } from './mistake.ts'

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
  /**
   * Whether the mistake is only tried alone. Pairs with a mistake in the body are unlikely, and would take time from
   * likelier pairs.
   */
  readonly isAlone?: boolean
}

const otherSecretsMax = 50

const spaceFix =
  'Use the secret without surrounding white space and line breaks, in the sender and in the receiver.'
const quotesFix = 'Use the secret without the quotes around it, in the sender and in the receiver.'
const missingFix =
  'Set the variable that contains the secret of the sender. The sender must not start without it.'
const decodedFix = 'Use the text of the secret, encoded as UTF-8, as the key.'

/** Makes the recipes for mistakes with a secret. Likely ones come first. */
export function keyRecipes({ secret, otherSecrets = [] }: Secrets): readonly KeyRecipe[] {
  return [
    ...withoutSurroundings(secret),
    ...missing,
    ...otherSecrets.slice(0, otherSecretsMax).map(otherSecret),
    ...withSurroundings(secret),
    ...decoded(secret),
  ]
}

/** The keys of senders that don't notice that their secret is missing. */
const missing: readonly KeyRecipe[] = ['', 'undefined', 'null', 'None'].map((text) => {
  const used = text === '' ? 'an empty secret' : `the text "${text}" as the secret`
  const finding = `The signature was made with ${used}`
  return { ...recipe(['secret_missing', finding, missingFix], text), isAlone: true }
})

function withoutSurroundings(secret: string): readonly KeyRecipe[] {
  const trimmed = secret.trim()
  const unquoted = /^(["'`])(.+)\1$/s.exec(trimmed)?.[2]
  const space =
    'The secret has white space around it, but the signature was made with the trimmed secret'
  const quotes = 'The secret has quotes around it, but the signature was made without them'
  return [
    ...(trimmed === secret ? [] : [recipe(['secret_space', space, spaceFix], trimmed)]),
    ...(unquoted === undefined ? [] : [recipe(['secret_quotes', quotes, quotesFix], unquoted)]),
  ]
}

function withSurroundings(secret: string): readonly KeyRecipe[] {
  const lineBreak = 'The signature was made with a line break at the end of the secret'
  const space = 'The signature was made with white space around the secret'
  const quotes = 'The signature was made with quotes around the secret'
  return [
    ...[`${secret}\n`, `${secret}\r\n`].map((key) =>
      recipe(['secret_space', lineBreak, spaceFix], key),
    ),
    ...[`${secret} `, ` ${secret}`, ` ${secret} `, `${secret}\t`].map((key) =>
      recipe(['secret_space', space, spaceFix], key),
    ),
    ...[`"${secret}"`, `'${secret}'`].map((key) =>
      recipe(['secret_quotes', quotes, quotesFix], key),
    ),
  ]
}

function decoded(secret: string): readonly KeyRecipe[] {
  const bare = /^whsec_(.+)$/.exec(secret)?.[1]
  const encoded = bare ?? secret
  const from = (encoding: string): [MistakeCode, string, string] => [
    'secret_decoded',
    `The secret was decoded from ${encoding} before the signature was made`,
    decodedFix,
  ]
  const stripped = 'The signature was made with the secret without its prefix whsec_'
  return [
    ...(/^[\w+/-]+={0,2}$/.test(encoded)
      ? [recipe(from('base64'), Buffer.from(encoded, 'base64'))]
      : []),
    ...(/^(?:[0-9a-f]{2})+$/i.test(encoded)
      ? [recipe(from('hexadecimal digits'), Buffer.from(encoded, 'hex'))]
      : []),
    ...(bare === undefined ? [] : [recipe(['secret_decoded', stripped, decodedFix], bare)]),
  ]
}

function otherSecret({ name, secret }: NamedSecret): KeyRecipe {
  const finding = `The signature was made with the secret of ${shortText(name)}`
  return recipe(['other_secret', finding, 'Use the same secret on both sides.'], secret)
}

function recipe(
  [code, finding, fix]: readonly [MistakeCode, string, string],
  key: string | Buffer,
): KeyRecipe {
  return { code, finding, fix, key: Buffer.from(key) }
}
