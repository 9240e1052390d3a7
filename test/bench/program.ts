import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A program in its own process that answers questions, one at a time. */
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
      throw new Error(`${program} ended with exit code ${String(code)}`)
    })
    this.#ended.catch(() => undefined)
  }

  /**
   * Starts a program that calls {@link answerQuestions}.
   *
   * @param settings - returned there by {@link programSettings}
   * @param preload - a module that each thread of the program loads first
   */
  static async start<Question, Answer>(
    path: URL,
    settings: unknown = {},
    preload?: URL,
  ): Promise<Program<Question, Answer>> {
    const program = new Program<Question, Answer>(path, settings, preload)
    try {
      await program.#nextAnswer()
      return program
    } catch (error) {
      await program.end()
      throw error
    }
  }

  /** Asks a question, and waits for the answer. */
  async ask(question: Question): Promise<Answer> {
    this.#child.send({ question })
    return (await this.#nextAnswer()) as Answer
  }

  /** Ends the process, and waits until it has exited. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#ended.catch(() => undefined)
  }

  async #nextAnswer(): Promise<unknown> {
    const [{ answer }] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [
      { readonly answer?: unknown },
    ]
    return answer
  }
}

/** The settings that the program was started with. */
export function programSettings(): unknown {
  return JSON.parse(process.argv[2] ?? '{}')
}

/**
 * Answers questions of the parent process until that ends.
 *
 * @param answer - declares the type of its questions, because messages have none
 */
export function answerQuestions(answer: (question: never) => unknown): void {
  const answerOne = async (question: never): Promise<void> => {
    process.send?.({ answer: await answer(question) })
  }
  process.on('message', ({ question }: { readonly question: never }) => void answerOne(question))
  process.on('disconnect', () => process.exit())
  process.send?.({})
}
