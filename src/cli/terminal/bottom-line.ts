import type { Clock, Timer } from '../../runtime/index.ts'
import type { OutputStream } from '../io.ts'

/** The dependencies of a bottom line. */
export interface BottomLineParts {
  readonly stream: OutputStream
  readonly clock: Clock
  readonly text: (columnsMax: number) => string
}

/** Minimum interval between redraws, so that a stream of events does not make the line flicker. */
const redrawMs = 100
/** How long to wait until a new width is final. Dragging a window changes it many times. */
const resizeMs = 250

const erase = '\r\u001b[J'

/** The last line of a terminal. It is erased while text is written above it, and soon drawn again. */
export class BottomLine {
  readonly #parts: BottomLineParts
  #timer: Timer | undefined
  #drawnAtMs = -Infinity
  #isDrawn = false
  /** Whether the text above ends with a line break. Until it does, the bottom line is not drawn. */
  #isAtStart = true
  #isOpen = false

  constructor(parts: BottomLineParts) {
    this.#parts = parts
  }

  /** Wraps a stream to the same terminal, so that its text goes above the line. */
  over(stream: OutputStream): OutputStream {
    return {
      write: (text) => this.#writeAbove(stream, text),
      once: (event, listener) => stream.once(event, listener),
      get isTTY() {
        return stream.isTTY ?? false
      },
      get columns() {
        return stream.columns ?? 80
      },
    }
  }

  open(): void {
    this.#isOpen = true
    this.draw()
  }

  draw(): void {
    this.#cancel()
    if (!this.#isOpen || !this.#isAtStart) return
    const { stream, clock, text } = this.#parts
    // Some terminals begin a new line after the last column, so leave it free.
    const shown = text((stream.columns ?? 80) - 1)
    stream.write(`${this.#isDrawn ? erase : ''}${shown}`)
    this.#isDrawn = true
    this.#drawnAtMs = clock.nowMs()
  }

  /** Draws the line soon, at most ten times a second. */
  changed(): void {
    this.#drawIn(Math.max(this.#drawnAtMs + redrawMs - this.#parts.clock.nowMs(), 0))
  }

  #hide(): void {
    this.#cancel()
    this.#erase()
  }

  resized(): void {
    this.#hide()
    this.#drawIn(resizeMs)
  }

  /** Scrolls the text on the screen into the history. New text begins at the top. */
  clear(rows: number): void {
    this.#hide()
    this.#parts.stream.write(`${'\n'.repeat(rows)}\u001b[H\u001b[J`)
    this.draw()
  }

  close(): void {
    this.#hide()
    this.#isOpen = false
  }

  #writeAbove(stream: OutputStream, text: string): boolean {
    if (text === '') return stream.write(text)
    this.#erase()
    this.#isAtStart = text.endsWith('\n')
    const isTaken = stream.write(text)
    this.changed()
    return isTaken
  }

  #erase(): void {
    if (!this.#isDrawn) return
    this.#isDrawn = false
    this.#parts.stream.write(erase)
  }

  /** Keeps an earlier timer, so that endless output does not postpone drawing. */
  #drawIn(delayMs: number): void {
    if (!this.#isOpen) return
    this.#timer ??= this.#parts.clock.schedule(delayMs, () => this.draw())
  }

  #cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
