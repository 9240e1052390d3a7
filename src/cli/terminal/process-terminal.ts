import { StringDecoder } from 'node:string_decoder'
import { isInForeground } from './foreground.ts'
import type { Terminal, TerminalListeners } from './terminal.ts'

/** How often a background process checks whether it has the terminal. */
const foregroundLookMs = 500

/** The terminal of this process's stdin, stdout and stderr. */
export class ProcessTerminal implements Terminal {
  readonly #interrupt: () => void
  #leave = (): void => undefined
  #enter = (): void => undefined
  #isLent = false

  /** @param interrupt - acts like a SIGINT */
  constructor(interrupt: () => void) {
    this.#interrupt = interrupt
  }

  get rows(): number {
    return process.stderr.rows
  }

  open(listeners: TerminalListeners): () => void {
    const { stdin, stderr } = process
    const decoder = new StringDecoder('utf8')
    let isEntered = false
    const onData = (bytes: Buffer): void => listeners.input(decoder.write(bytes))
    const enter = (): void => {
      if (this.#isLent || !isInForeground()) return
      // Off and on again: another process may have changed the terminal's settings meanwhile.
      stdin.setRawMode(false).setRawMode(true)
      if (!isEntered) stdin.on('data', onData).resume()
      isEntered = true
      listeners.entered()
    }
    const leave = (): void => {
      if (!isEntered) return
      isEntered = false
      listeners.leaving()
      stdin.off('data', onData).pause().setRawMode(false)
    }
    this.#enter = enter
    this.#leave = leave
    // A shell that brings a running job to the foreground sends it no signal.
    const looking = setInterval(() => isEntered || enter(), foregroundLookMs).unref()
    const onResize = (): void => listeners.resized()
    const close = (): void => {
      leave()
      clearInterval(looking)
      this.#enter = this.#leave = () => undefined
      stderr.off('resize', onResize)
      process.off('SIGCONT', enter).off('exit', leave)
    }
    // A terminal that closed can neither be read nor restored; the SIGHUP ends the process.
    stdin.on('error', () => undefined)
    stderr.on('resize', onResize)
    process.on('SIGCONT', enter).on('exit', leave)
    enter()
    return close
  }

  async lend(work: () => Promise<void>): Promise<void> {
    this.#isLent = true
    this.#leave()
    try {
      await work()
    } finally {
      this.#isLent = false
      this.#enter()
    }
  }

  interrupt(): void {
    this.#interrupt()
  }

  suspend(): void {
    if (process.platform === 'win32') return
    this.#leave()
    // The whole job, as the terminal itself would.
    process.kill(0, 'SIGTSTP')
    // If no shell can continue the process, the system does not stop it and sends no SIGCONT.
    setImmediate(() => this.#enter())
  }
}
