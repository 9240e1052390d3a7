import { StringDecoder } from 'node:string_decoder'
import { isInForeground } from './foreground.ts'
import type { Terminal, TerminalListeners } from './terminal.ts'

/** How often a process in the background looks whether it has the terminal. */
const foregroundLookMs = 500

/** The terminal that stdin, stdout and stderr of this process are. */
export class ProcessTerminal implements Terminal {
  readonly #interrupt: () => void
  #leave = (): void => undefined
  #enter = (): void => undefined

  /** @param interrupt - does what a SIGINT does */
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
      if (!isInForeground()) return
      // Off and on again: whoever had the terminal meanwhile may have changed its settings.
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
    // A terminal that goes away cannot be read, nor given its settings back; the SIGHUP says the rest.
    stdin.on('error', () => undefined)
    stderr.on('resize', onResize)
    process.on('SIGCONT', enter).on('exit', leave)
    enter()
    return close
  }

  interrupt(): void {
    this.#interrupt()
  }

  suspend(): void {
    if (process.platform === 'win32') return
    this.#leave()
    // The whole job, as the terminal itself would.
    process.kill(0, 'SIGTSTP')
    // Where no shell could continue it the system does not stop it, and there is no SIGCONT.
    setImmediate(() => this.#enter())
  }
}
