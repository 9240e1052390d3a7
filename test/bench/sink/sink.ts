import { Program } from '../program.ts'

/** What came to a sink. */
export interface Arrivals {
  /** Webhooks. */
  readonly requests: number
  /** Of those, with a signature. */
  readonly signed: number
  /** Bytes of their bodies. */
  readonly bodyBytes: number
}

/**
 * What a sink is asked: where it is; what came since it was asked that last; or to answer when so many
 * signed webhooks have come from now on.
 */
export type SinkQuestion = 'place' | 'arrivals' | { readonly signed: number }

/** What it answers to all of them. */
export interface SinkAnswer {
  readonly port: number
  readonly arrivals: Arrivals
  /** When the first of the signed ones came, in milliseconds since 1970. */
  readonly firstSignedAtMs: number
}

/** Takes webhooks in a process of its own, and answers them so cheaply that nobody waits for it. */
export class Sink {
  /** Where it answers, without a slash at the end. What is posted to `/hang` it never answers. */
  readonly origin: string
  readonly #program: Program<SinkQuestion, SinkAnswer>

  private constructor(program: Program<SinkQuestion, SinkAnswer>, { port }: SinkAnswer) {
    this.#program = program
    this.origin = `http://127.0.0.1:${port}`
  }

  /** Starts one on a free port of this machine. */
  static async start(): Promise<Sink> {
    const url = new URL('sink-program.ts', import.meta.url)
    const program = await Program.start<SinkQuestion, SinkAnswer>(url)
    return new Sink(program, await program.ask('place'))
  }

  /** What came since it was asked last. */
  async arrivals(): Promise<Arrivals> {
    return (await this.#program.ask('arrivals')).arrivals
  }

  /**
   * Waits until so many signed webhooks have come from now on.
   *
   * @returns when the first of them came, in milliseconds since 1970
   */
  async arrivalOf(signed: number): Promise<number> {
    return (await this.#program.ask({ signed })).firstSignedAtMs
  }

  /** Ends it. */
  end(): Promise<void> {
    return this.#program.end()
  }
}
