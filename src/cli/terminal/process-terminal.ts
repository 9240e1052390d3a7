import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'

/** Passed to {@link ProcessTerminal.open}. */
export interface TerminalListeners {
  input(text: string): void
  resized(): void
  /** Called when this process starts or resumes reading keys. */
  entered(): void
  /** Called before this process stops reading keys, for a while or for good. */
  leaving(): void
}

/** How often a process in the background checks whether it is in the foreground. */
const foregroundLookMs = 500

/** A terminal in raw mode: it reads keys one by one, without an echo. */
export type Terminal = Pick<ProcessTerminal, keyof ProcessTerminal>

/** The terminal of this process's stdin, stdout and stderr. */
export class ProcessTerminal {
  readonly #interrupt: () => void
  #leave = (): void => undefined
  #enter = (): void => undefined
  #isLent = false

  constructor(interrupt: () => void) {
    this.#interrupt = interrupt
  }

  get rows(): number {
    return process.stderr.rows
  }

  /** Reads keys until the returned function is called or the process ends. Then restores the terminal's settings. */
  open(listeners: TerminalListeners): () => void {
    const { stdin, stderr } = process
    const decoder = new StringDecoder('utf8')
    let isEntered = false
    const onData = (bytes: Buffer): void => listeners.input(decoder.write(bytes))
    const enter = (): void => {
      if (this.#isLent || !isInForeground()) return
      // Switch raw mode off and on again: another process may have changed the terminal's settings.
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
    // Poll, because a shell that brings a running job to the foreground sends it no signal.
    const looking = setInterval(() => isEntered || enter(), foregroundLookMs).unref()
    const onResize = (): void => listeners.resized()
    const close = (): void => {
      leave()
      clearInterval(looking)
      this.#enter = this.#leave = () => undefined
      stderr.off('resize', onResize)
      process.off('SIGCONT', enter).off('exit', leave)
    }
    // Ignore the error of a closed terminal: it can be neither read nor restored, and the SIGHUP ends the process.
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

  /** Does what a SIGINT does: asks the command to end, and the second time ends the process at once. */
  interrupt(): void {
    this.#interrupt()
  }

  /** Releases the terminal and stops the process, as Ctrl-Z does, until it is continued. */
  suspend(): void {
    if (process.platform === 'win32') return
    this.#leave()
    // Stop the whole job, as the terminal itself would.
    process.kill(0, 'SIGTSTP')
    // The system ignores SIGTSTP if no shell can continue the process. No SIGCONT comes then, so read keys at once.
    setImmediate(() => this.#enter())
  }
}

/** Whether this process may read the terminal. The system stops a background process that reads it. */
function isInForeground(): boolean {
  const groups = groupsOfProcess()
  return groups === undefined || ownsTerminal(groups)
}

type ProcessGroups = readonly [own: number, terminal: number]

/** Whether this process may use the terminal. True if there is no foreground group, and so no job control. */
export function ownsTerminal([own, terminal]: ProcessGroups): boolean {
  return terminal <= 0 || own === terminal
}

/** Parses the groups from `/proc/self/stat` of Linux. The name of the program in it may contain `)` and spaces. */
export function groupsInStat(stat: string): ProcessGroups | undefined {
  const [, , own, , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return asGroups([own, terminal])
}

/** Parses the groups from the output of `ps -o pgid=,tpgid=`. */
export function groupsInList(list: string): ProcessGroups | undefined {
  const [own, terminal] = list.trim().split(/\s+/)
  return asGroups([own, terminal])
}

function groupsOfProcess(): ProcessGroups | undefined {
  if (process.platform === 'win32') return undefined
  if (process.platform === 'linux') return groupsInStat(readFileSync('/proc/self/stat', 'utf8'))
  const { stdout, error } = spawnSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], {
    encoding: 'utf8',
  })
  return error === undefined ? groupsInList(stdout) : undefined
}

function asGroups(texts: readonly (string | undefined)[]): ProcessGroups | undefined {
  const [own = NaN, terminal = NaN] = texts.map((text) => parseInt(text ?? '', 10))
  return Number.isInteger(own) && Number.isInteger(terminal) ? [own, terminal] : undefined
}
