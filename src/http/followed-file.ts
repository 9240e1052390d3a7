import { readFileSync, statSync } from 'node:fs'
import { systemCode } from '../model/index.ts'

/** A small file that is parsed again whenever it changes. A missing file counts as empty. */
export class FollowedFile<Content> {
  readonly #path: string
  readonly #parse: (text: string) => Content
  #parsed: { readonly stamp: string; readonly content: Content } | undefined

  constructor(path: string, parse: (text: string) => Content) {
    this.#path = path
    this.#parse = parse
  }

  /** @throws the system's error if the file cannot be read */
  get content(): Content {
    const stamp = this.#stamp()
    if (this.#parsed?.stamp !== stamp) {
      const text = stamp === missing ? '' : readFileSync(this.#path, 'utf8')
      this.#parsed = { stamp, content: this.#parse(text) }
    }
    return this.#parsed.content
  }

  /** The content; if the file cannot be read, the content that was read last, or undefined. */
  get contentOrLast(): Content | undefined {
    try {
      return this.content
    } catch {
      return this.#parsed?.content
    }
  }

  #stamp(): string {
    try {
      const { mtimeMs, size, ino } = statSync(this.#path)
      return `${mtimeMs} ${size} ${ino}`
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return missing
      throw error
    }
  }
}

const missing = 'missing'
