import { isTextNestedDeeper, limits } from '../../model/index.ts'
import { sortKeys, tokensOf, writeJson, type JsonStyle } from '../../webhook/index.ts'

/** A request with a wrong signature. */
export interface SuspectRequest {
  /** The received bytes of the body. */
  readonly body: Buffer
  /** The value of `X-Signature`; undefined if there is none. */
  readonly signature: string | undefined
  /** The headers, names in lower case; undefined if only body and signature are known. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The path with its query; undefined if it is not known. */
  readonly path?: string | undefined
}

/** The largest body to decode and rewrite, because larger ones take too long. */
const rewrittenBytesMax = limits.webhookBytesMax / 4

/** The body of a suspect request, as text and as JSON. Each is read on first use, and kept. */
export class SuspectBody {
  readonly bytes: Buffer
  #text: string | undefined
  #parsed: { readonly value: unknown; readonly json: string } | undefined | null = null
  #tokens: readonly (readonly string[])[] | undefined
  #sortedTokens: readonly string[] | undefined

  /** @param bytes - the received bytes */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Whether the body is small enough to be rewritten. */
  get isRewritable(): boolean {
    return this.bytes.length <= rewrittenBytesMax
  }

  /** The text of a small body; undefined for a large one. Invalid bytes are replaced. */
  get text(): string | undefined {
    if (!this.isRewritable) return undefined
    this.#text ??= this.bytes.toString('utf8')
    return this.#text
  }

  /** The parsed JSON; undefined if the body is not JSON, too large or nested too deep. */
  get value(): unknown {
    return this.#parse()?.value
  }

  /** The result of `JSON.stringify(JSON.parse(body))`; undefined where {@link value} is. */
  get stringified(): string | undefined {
    return this.#parse()?.json
  }

  /** Writes the JSON in a style, with its own number formats and key order, and also with JavaScript's. */
  rewritten(style: JsonStyle): readonly string[] {
    this.#tokens ??= this.#sources().map(tokensOf)
    return this.#tokens.flatMap((tokens) => writeJson(tokens, style) ?? [])
  }

  /** Writes the JSON in a style, with the keys of every object sorted. */
  sorted(style: JsonStyle): readonly string[] {
    const parsed = this.#parse()
    if (parsed === undefined) return []
    this.#sortedTokens ??= tokensOf(JSON.stringify(sortKeys(parsed.value)))
    return [writeJson(this.#sortedTokens, style) ?? []].flat()
  }

  #sources(): readonly string[] {
    const parsed = this.#parse()
    return parsed === undefined ? [] : [...new Set([this.text ?? '', parsed.json])]
  }

  #parse(): { readonly value: unknown; readonly json: string } | undefined {
    if (this.#parsed === null) this.#parsed = parse(this.text)
    return this.#parsed
  }
}

function parse(
  text: string | undefined,
): { readonly value: unknown; readonly json: string } | undefined {
  // Deeper JSON is not a webhook, and sorting its keys would recurse as deep.
  if (text === undefined || isTextNestedDeeper(text, limits.callNestingMax + 1)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return { value, json: JSON.stringify(value) }
  } catch {
    // It is not JSON.
    return undefined
  }
}
