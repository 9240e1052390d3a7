/** Is told what happens at a terminal that was opened. */
export interface TerminalListeners {
  /** Text was typed, one key or several. */
  input(text: string): void
  /** The window has another size. */
  resized(): void
  /** Keys are read, from now on or again. */
  entered(): void
  /** The last moment before the terminal is given back, for a while or for good. */
  leaving(): void
}

/** A terminal that keys can be read from one by one, without an echo. */
export interface Terminal {
  /** How many rows it has. */
  readonly rows: number
  /**
   * Reads keys until the function it returns is called. The terminal gets its settings back then, and
   * on every other way out of the process.
   */
  open(listeners: TerminalListeners): () => void
  /** Does what a SIGINT does: asks the command to end, the second time ends the process at once. */
  interrupt(): void
  /** Gives the terminal back and stops the process, as Ctrl-Z does, until somebody continues it. */
  suspend(): void
}
