import { Program } from '../program.ts'

export interface Arrivals {
  readonly requests: number
  /** Requests with a signature. */
  readonly signed: number
  readonly bodyBytes: number
}

/**
 * Asks for the port; for the arrivals since that was last asked; or to answer once this many more signed
 * webhooks have arrived.
 */
export type SinkQuestion = 'port' | 'arrivals' | { readonly signed: number }

export interface SinkAnswer {
  readonly port: number
  readonly arrivals: Arrivals
  /** When the first signed webhook arrived, in milliseconds since 1970. */
  readonly firstSignedAtMs: number
}

/**
 * Receives webhooks in its own process, and answers them so cheaply that it doesn't slow the senders down.
 */
export class Sink {
  /** Its origin, without a trailing slash. It never answers requests to `/hang`. */
  readonly origin: string
  readonly #program: Program<SinkQuestion, SinkAnswer>

  private constructor(program: Program<SinkQuestion, SinkAnswer>, { port }: SinkAnswer) {
    this.#program = program
    this.origin = `http://127.0.0.1:${port}`
  }

  /** Starts a sink on a free port of 127.0.0.1. */
  static async start(): Promise<Sink> {
    const url = new URL('sink-program.ts', import.meta.url)
    const program = await Program.start<SinkQuestion, SinkAnswer>(url)
    return new Sink(program, await program.ask('port'))
  }

  /** Returns what arrived since the previous call. */
  async arrivals(): Promise<Arrivals> {
    return (await this.#program.ask('arrivals')).arrivals
  }

  /**
   * Waits for this many more signed webhooks.
   *
   * @returns when the first of them arrived, in milliseconds since 1970
   */
  async arrivalOf(signed: number): Promise<number> {
    return (await this.#program.ask({ signed })).firstSignedAtMs
  }

  end(): Promise<void> {
    return this.#program.end()
  }
}
