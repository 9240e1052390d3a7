import { createHash, createHmac } from 'node:crypto'
import type { Mistake } from './mistake.ts'
import type { Algorithm } from './signature-form.ts'

/** A mistake in computing the digest from the body and the secret. */
export interface DigestRecipe extends Mistake {
  /** Computes the digests that result from the mistake. */
  readonly digests: (source: {
    readonly algorithm: Algorithm
    readonly body: Buffer
    readonly key: Buffer
  }) => readonly Buffer[]
}

/** Mistakes in computing the digest. */
export const digestRecipes: readonly DigestRecipe[] = [
  {
    code: 'swapped_arguments',
    finding: 'The arguments of the HMAC were swapped: the body was used as the key',
    fix: 'Use the secret as the key of the HMAC, and the body as the message.',
    digests: ({ algorithm, body, key }) => [createHmac(algorithm, body).update(key).digest()],
  },
  {
    code: 'without_key',
    finding: 'The signature is a plain hash, not an HMAC',
    fix: "Use an HMAC with the secret as its key, such as createHmac('sha1', secret) in Node.",
    digests: ({ algorithm, body, key }) =>
      [[body], [key, body], [body, key]].map((parts) =>
        createHash(algorithm).update(Buffer.concat(parts)).digest(),
      ),
  },
]
