import { isTextNestedDeeper, limits } from '../../model/index.ts'
import { sortKeys, tokensOf, writeJson, type JsonStyle } from '../../webhook/index.ts'

/** A request whose signature does not fit. */
export interface SuspectRequest {
  /** The body's bytes as they were received. */
  readonly body: Buffer
  /** The value of `X-Signature`; undefined where there is none. */
  readonly signature: string | undefined
  /** The headers, names in lower case; undefined where only body and signature are known. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The path with its query; undefined where it is not known. */
  readonly path?: string | undefined
}

/** Larger bodies are not decoded and written in other ways: it takes longer than anybody waits. */
const rewrittenBytesMax = limits.webhookBytesMax / 4

/** A suspect's body as text and as JSON, read once and only where something asks for it. */
export class SuspectBody {
  readonly bytes: Buffer
  #text: string | undefined
  #parsed: { readonly value: unknown; readonly json: string } | undefined | null = null
  #tokens: readonly (readonly string[])[] | undefined
  #sortedTokens: readonly string[] | undefined

  /** @param bytes - as they were received */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Whether it is small enough to be written in other ways. */
  get isRewritable(): boolean {
    return this.bytes.length <= rewrittenBytesMax
  }

  /** Its text if it is small enough; bytes that are not UTF-8 are replaced. */
  get text(): string | undefined {
    if (!this.isRewritable) return undefined
    this.#text ??= this.bytes.toString('utf8')
    return this.#text
  }

  /** The value of its JSON; undefined if it is not JSON, is too large or nests too deep. */
  get value(): unknown {
    return this.#parse()?.value
  }

  /** What `JSON.stringify(JSON.parse(body))` gives; undefined where it is no JSON, or too large. */
  get stringified(): string | undefined {
    return this.#parse()?.json
  }

  /** Its JSON in another style, with its own numbers and order of keys and with those of JavaScript. */
  rewritten(style: JsonStyle): readonly string[] {
    this.#tokens ??= this.#sources().map(tokensOf)
    return this.#tokens.flatMap((tokens) => writeJson(tokens, style) ?? [])
  }

  /** Its JSON in another style, with the keys of every object sorted. */
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
  // A deeper one is no webhook, and sorting its keys would go as deep.
  if (text === undefined || isTextNestedDeeper(text, limits.callNestingMax + 1)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return { value, json: JSON.stringify(value) }
  } catch {
    // It is not JSON.
    return undefined
  }
}
