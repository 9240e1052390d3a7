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
  | 'first_event_only'
  | 'empty_body'
  | 'object_body'
  | 'secret_missing'
  | 'secret_space'
  | 'secret_quotes'
  | 'secret_decoded'
  | 'other_secret'
  | 'standard_webhooks'
  | 'other_header'

/** A mistake, described for the developer of the handler or sender. */
export interface Mistake {
  readonly code: MistakeCode
  /** The mistake as a sentence without a period. */
  readonly finding: string
  /** What to do about it, as one sentence. */
  readonly fix: string
}

/** Why a signature is wrong. It never contains a secret or a signature. */
export interface Diagnosis {
  /** A {@link MistakeCode}, or several joined by `+`. */
  readonly mistake: string
  /** The mistakes as one sentence. */
  readonly message: string
  /** What to do about it, on one line. */
  readonly fix: string
}

/** Makes the diagnosis for one or more mistakes that were made together. */
export function diagnosisOf(mistakes: readonly Mistake[]): Diagnosis {
  const [first, ...others] = mistakes.map(({ finding }) => finding)
  const lowered = others.map((finding) => finding.charAt(0).toLowerCase() + finding.slice(1))
  return Object.freeze({
    mistake: mistakes.map(({ code }) => code).join('+'),
    message: [first, ...lowered].join('; '),
    fix: [...new Set(mistakes.map(({ fix }) => fix))].join(' '),
  })
}
