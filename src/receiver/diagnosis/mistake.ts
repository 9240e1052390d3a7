/** The stable name of one mistake that makes a signature wrong. */
export type MistakeCode =
  | 'sha256'
  | 'sha512'
  | 'without_key'
  | 'base64'
  | 'base64url'
  | 'upper_case'
  | 'prefix'
  | 'signature_space'
  | 'swapped_arguments'
  | 're_serialised'
  | 'newline_added'
  | 'newline_lost'
  | 'line_ends'
  | 'charset'
  | 'inflated'
  | 'compressed'
  | 'first_event_only'
  | 'empty_body'
  | 'object_body'
  | 'url_signed'
  | 'secret_missing'
  | 'secret_space'
  | 'secret_quotes'
  | 'secret_decoded'
  | 'other_secret'
  | 'standard_webhooks'
  | 'other_header'

/** One mistake, in words. */
export interface Mistake {
  /** Its stable name. */
  readonly code: MistakeCode
  /** The mistake as a sentence without its full stop. */
  readonly finding: string
  /** What to do about it, as one sentence. */
  readonly fix: string
}

/** Why a signature does not fit. Neither a secret nor a signature is ever in it. */
export interface Diagnosis {
  /** A {@link MistakeCode}, or several joined by `+` where more than one was made. */
  readonly mistake: string
  /** The mistake in one sentence. */
  readonly message: string
  /** What to do about it, on one line. */
  readonly fix: string
}

/** The diagnosis of mistakes that were made together: at least one. */
export function diagnosisOf(mistakes: readonly Mistake[]): Diagnosis {
  const [first, ...others] = mistakes.map(({ finding }) => finding)
  const lowered = others.map((finding) => finding.charAt(0).toLowerCase() + finding.slice(1))
  return Object.freeze({
    mistake: mistakes.map(({ code }) => code).join('+'),
    message: [first, ...lowered].join('; '),
    fix: [...new Set(mistakes.map(({ fix }) => fix))].join(' '),
  })
}
