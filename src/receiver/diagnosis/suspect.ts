import { isTextNestedDeeper, limits } from '../../model/index.ts'
import { reorderKeys, tokensOf, writeJson, type JsonStyle } from '../../webhook/index.ts'
import type { Mistake } from './mistake.ts'

/** A request with a wrong signature. */
export interface SuspectRequest {
  readonly body: Buffer
  /** The value of `X-Signature`; undefined if there is none. */
  readonly signature: string | undefined
  /** The headers, names in lower case; undefined if they are not known. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A mistake with the body, and the bytes that a sender signs because of it. */
export interface BodyRecipe extends Mistake {
  /** Guesses the signed bytes; empty if the sender cannot have made this mistake. */
  readonly bodies: (source: BodySource) => readonly Buffer[]
}

/** The facts from which the signed bytes are guessed. */
export interface BodySource extends Pick<SuspectRequest, 'headers'> {
  readonly body: SuspectBody
}

/** Limits for decoding and rewriting a body. Larger bodies would delay other webhooks. */
const rewrittenBytesMax = 64 * 1024
const rewrittenTokensMax = 16 * 1024

/** The body of a suspect request, as text and as JSON. Each form is made on first use, and kept. */
export class SuspectBody {
  readonly bytes: Buffer
  #text: string | undefined
  #parsed: ReturnType<typeof parse> | null = null
  #tokens: readonly (readonly string[])[] | undefined
  #sortedTokens: readonly string[] | undefined

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get isRewritable(): boolean {
    return this.bytes.length <= rewrittenBytesMax
  }

  /** The text of a small body; undefined for a large one. Invalid bytes are replaced. */
  get text(): string | undefined {
    if (!this.isRewritable) return undefined
    this.#text ??= this.bytes.toString('utf8')
    return this.#text
  }

  /** The parsed JSON; undefined if the body is not JSON, too large, or has too many tokens or levels. */
  get value(): unknown {
    return this.#parse()?.value
  }

  /** The result of `JSON.stringify(JSON.parse(body))`; undefined if {@link value} is. */
  get stringified(): string | undefined {
    return this.#parse()?.json
  }

  /** Writes the JSON twice: with the number formats and key order of the body, and with those of JavaScript. */
  rewritten(style: JsonStyle): readonly string[] {
    const parsed = this.#parse()
    if (parsed === undefined) return []
    const { json, tokens } = parsed
    this.#tokens ??= json === this.text ? [tokens] : [tokens, tokensOf(json)]
    return this.#tokens.flatMap((each) => writeJson(each, style) ?? [])
  }

  sorted(style: JsonStyle): readonly string[] {
    const parsed = this.#parse()
    if (parsed === undefined) return []
    const sorted = (): unknown => reorderKeys(parsed.value, (keys) => keys.sort())
    this.#sortedTokens ??= tokensOf(JSON.stringify(sorted()))
    return [writeJson(this.#sortedTokens, style) ?? []].flat()
  }

  #parse(): ReturnType<typeof parse> {
    if (this.#parsed === null) this.#parsed = parse(this.text)
    return this.#parsed
  }
}

function parse(text: string | undefined) {
  // Deeper JSON is not a webhook, and could overflow the stack when its keys are sorted.
  if (text === undefined || isTextNestedDeeper(text, limits.callNestingMax + 1)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const tokens = tokensOf(text)
    if (tokens.length > rewrittenTokensMax) return undefined
    return { value, json: JSON.stringify(value), tokens }
  } catch {
    return undefined
  }
}
