import { createHash, createHmac } from 'node:crypto'
import { bodyRecipes } from './body-recipes.ts'
import { keyRecipes, type KeyRecipe, type Secrets } from './key-recipes.ts'
import { diagnosisOf, type Diagnosis, type Mistake } from './mistake.ts'
import { readForm, type Algorithm, type SignatureForm } from './signature-form.ts'
import { SuspectBody, type BodyRecipe, type BodySource, type SuspectRequest } from './suspect.ts'

/** Limits of one diagnosis. It takes about 1.5 ms for a body of 2 KB, and 20 ms for JSON of 64 KB. */
const hmacsMax = 200
const hashedBytesMax = 16 * 1024 * 1024

/** Each search reserves this time, plus 1 ms per `bytesPerMs` bytes of the body. At most 20 run a second on average. */
const spacingMs = 50
const bytesPerMs = 256
/** No search begins while more time than this is reserved for earlier ones. */
const burstMs = 2_000

interface DigestRecipe extends Mistake {
  readonly digests: (source: {
    readonly algorithm: Algorithm
    readonly body: Buffer
    readonly key: Buffer
  }) => readonly Buffer[]
}

const digestRecipes: readonly DigestRecipe[] = [
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

interface Cause {
  readonly body?: BodyRecipe
  readonly key?: KeyRecipe
  readonly digest?: DigestRecipe
}

/**
 * Finds the mistake that explains a wrong signature. Limits searches and their cost, so that a receiver survives a
 * flood of wrong signatures. Before a search, tries the mistake that it found last.
 */
export class Diagnostician {
  readonly #key: Buffer
  readonly #keys: readonly KeyRecipe[]
  #last: Cause | undefined
  #paidUntilMs = -Infinity

  constructor(secrets: Secrets) {
    this.#key = Buffer.from(secrets.secret)
    this.#keys = keyRecipes(secrets)
  }

  /** Explains a wrong signature; undefined if no known mistake does, or if there were too many searches lately. */
  diagnose(request: SuspectRequest, nowMs: number): Diagnosis | undefined {
    const { signature = '', headers } = request
    if (signature === '') return findElsewhere(headers ?? {})
    const form = readForm(signature)
    if (form === undefined) return undefined
    const source = { body: new SuspectBody(request.body), headers }
    const cause = this.#findCause(new Trials(form, source), nowMs)
    if (cause === undefined) return undefined
    const { body, key, digest } = cause
    const recipes = [body, key, digest].filter((recipe) => recipe !== undefined)
    const mistakes = [...form.mistakes, ...recipes]
    return mistakes.length === 0 ? undefined : diagnosisOf(mistakes)
  }

  #findCause(trials: Trials, nowMs: number): Cause | undefined {
    const explains = ({ body, key, digest }: Cause): boolean =>
      digest === undefined
        ? trials.isSigned(body, key?.key ?? this.#key)
        : trials.isDigest(digest, this.#key)
    if (this.#last !== undefined && explains(this.#last)) return this.#last
    if (this.#paidUntilMs > nowMs + burstMs) return undefined
    this.#paidUntilMs = Math.max(this.#paidUntilMs, nowMs) + spacingMs + trials.bytes / bytesPerMs
    for (const cause of this.#causes()) {
      if (trials.areOver) return undefined
      if (explains(cause)) return (this.#last = cause)
    }
    return undefined
  }

  *#causes(): Generator<Cause> {
    yield {}
    for (const key of this.#keys) yield { key }
    for (const digest of digestRecipes) yield { digest }
    for (const body of bodyRecipes) yield { body }
    for (const body of bodyRecipes) {
      for (const key of this.#keys) if (key.isAlone !== true) yield { body, key }
    }
  }
}

/** Compares a signature with those that mistakes would give, within a budget of HMACs and bytes. */
class Trials {
  readonly #form: SignatureForm
  readonly #source: BodySource
  readonly #made = new Map<BodyRecipe, readonly Buffer[]>()
  #hmacs = 0
  #hashedBytes = 0

  constructor(form: SignatureForm, source: BodySource) {
    this.#form = form
    this.#source = source
  }

  get bytes(): number {
    return this.#source.body.bytes.length
  }

  get areOver(): boolean {
    return this.#hmacs >= hmacsMax || this.#hashedBytes >= hashedBytesMax
  }

  /** Whether the key and one of the recipe's bodies give the signature. Without a recipe, tries the received body. */
  isSigned(recipe: BodyRecipe | undefined, key: Buffer): boolean {
    return this.#bodiesOf(recipe).some((body) => !this.areOver && this.#isSignatureOf(body, key))
  }

  isDigest({ digests }: DigestRecipe, key: Buffer): boolean {
    const { bytes: body } = this.#source.body
    const { algorithm, digest } = this.#form
    const made = digests({ algorithm, body, key })
    this.#hmacs += made.length
    this.#hashedBytes += made.length * body.length
    return made.some((each) => each.equals(digest))
  }

  #bodiesOf(recipe: BodyRecipe | undefined): readonly Buffer[] {
    const { body } = this.#source
    if (recipe === undefined) return [body.bytes]
    const made = this.#made.get(recipe)
    if (made !== undefined) return made
    const bodies = recipe.bodies(this.#source).filter((bytes) => !bytes.equals(body.bytes))
    this.#made.set(recipe, bodies)
    return bodies
  }

  #isSignatureOf(body: Buffer, key: Buffer): boolean {
    this.#hmacs += 1
    this.#hashedBytes += body.length
    const { algorithm, digest } = this.#form
    return createHmac(algorithm, key).update(body).digest().equals(digest)
  }
}

/** Looks for a signature in headers other than X-Signature. Returns undefined if no header has one. */
function findElsewhere(headers: Readonly<Record<string, string>>): Diagnosis | undefined {
  const names = Object.keys(headers)
  if (names.includes('webhook-signature')) {
    const finding = 'The request has only a Standard Webhooks signature'
    const fix = 'Send X-Signature too, or verify webhook-signature instead.'
    return diagnosisOf([{ code: 'standard_webhooks', finding, fix }])
  }
  const [name] = names.filter(
    (other) => other !== 'x-signature' && /(?:^|-)(?:signature|hmac)(?:-|$)/.test(other),
  )
  if (name === undefined) return undefined
  const finding = `The signature is in the header ${name} instead of X-Signature`
  const fix = 'Send it as X-Signature: 40 lower-case hexadecimal digits of HMAC-SHA1.'
  return diagnosisOf([{ code: 'other_header', finding, fix }])
}

/** Explains one wrong signature; undefined if no known mistake does. Use a {@link Diagnostician} for many. */
export function diagnose({
  secret,
  otherSecrets,
  ...request
}: SuspectRequest & Secrets): Diagnosis | undefined {
  return new Diagnostician({ secret, otherSecrets }).diagnose(request, 0)
}
