import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A program that does what it is asked, one thing after the other, in a process of its own. */
export class Program<Question, Answer> {
  readonly #child: ChildProcess
  /** Rejects once the process has ended. */
  readonly #ended: Promise<never>

  private constructor(path: URL, settings: unknown, preload: URL | undefined) {
    const program = fileURLToPath(path)
    const preloads = preload === undefined ? [] : ['--import', preload.href]
    const execArgv = [...process.execArgv, ...preloads]
    this.#child = fork(program, [JSON.stringify(settings)], { execArgv })
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`${program} has ended with ${String(code)}`)
    })
    this.#ended.catch(() => undefined)
  }

  /**
   * Starts a program that calls {@link answerQuestions}.
   *
   * @param settings - what it can read with {@link programSettings}
   * @param preload - a module that each of its threads loads first
   */
  static async start<Question, Answer>(
    path: URL,
    settings: unknown = {},
    preload?: URL,
  ): Promise<Program<Question, Answer>> {
    const program = new Program<Question, Answer>(path, settings, preload)
    try {
      await program.#hear()
      return program
    } catch (error) {
      await program.end()
      throw error
    }
  }

  /** Asks, and waits for the answer. */
  async ask(question: Question): Promise<Answer> {
    this.#child.send({ question })
    return (await this.#hear()) as Answer
  }

  /** Ends the process, and waits for that. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#ended.catch(() => undefined)
  }

  async #hear(): Promise<unknown> {
    const [{ answer }] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [
      { readonly answer?: unknown },
    ]
    return answer
  }
}

/** What the program was started with. */
export function programSettings(): unknown {
  return JSON.parse(process.argv[2] ?? '{}')
}

/**
 * Answers what the process that started this one asks, for as long as that lives.
 *
 * @param answer - takes what that process asks: messages have no types
 */
export function answerQuestions(answer: (question: never) => unknown): void {
  const answerOne = async (question: never): Promise<void> => {
    process.send?.({ answer: await answer(question) })
  }
  process.on('message', ({ question }: { readonly question: never }) => void answerOne(question))
  process.on('disconnect', () => process.exit())
  process.send?.({})
}
