/** Hears what happens at an open terminal. */
export interface TerminalListeners {
  /** The user typed text, one key or several. */
  input(text: string): void
  /** The window was resized. */
  resized(): void
  /** Reading keys starts, or starts again. */
  entered(): void
  /** The terminal is about to be given back, temporarily or permanently. */
  leaving(): void
}

/** A terminal that reads keys one by one, without an echo. */
export interface Terminal {
  readonly rows: number
  /**
   * Reads keys until the returned function is called. That function, or any other end of the process,
   * restores the terminal's settings.
   */
  open(listeners: TerminalListeners): () => void
  /** Gives the terminal to another program until the work ends. */
  lend(work: () => Promise<void>): Promise<void>
  /** Acts like a SIGINT: asks the command to end; the second time, ends the process at once. */
  interrupt(): void
  /** Gives the terminal back and stops the process, as Ctrl-Z does, until it is continued. */
  suspend(): void
}
