import type { Clock, Timer } from '../../runtime/index.ts'
import type { OutputStream } from '../io.ts'

/** What the bottom line shows. */
export interface BottomText {
  /** Fits on one line; may have colours. */
  readonly text: string
  /** How many columns before its end the cursor stands. */
  readonly cursorBack: number
}

/** What a bottom line is made of. */
export interface BottomLineParts {
  /** The terminal. */
  readonly stream: OutputStream
  /** Tells when to draw again. */
  readonly clock: Clock
  /** Makes the text anew, in at most so many columns. */
  readonly text: (columnsMax: number) => BottomText
}

/** Between two drawings of the line: a stream of events does not make it flicker. */
const redrawMs = 100
/** A window that is dragged changes its width many times. */
const resizeMs = 250

const erase = '\r\u001b[J'

/**
 * The last line of a terminal whose screen is only ever appended to: what is written through
 * {@link over} goes above it. It is taken away before that and drawn again after, ten times a second at
 * the most.
 */
export class BottomLine {
  readonly #parts: BottomLineParts
  #timer: Timer | undefined
  #drawnAtMs = -Infinity
  #isDrawn = false
  /** Whether what was written ended in a line break: nothing is drawn behind half a line. */
  #isAtStart = true
  #isOpen = false

  constructor(parts: BottomLineParts) {
    this.#parts = parts
  }

  /** A stream to the same terminal whose text goes above the line. */
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

  /** Shows it from now on, until it is closed. */
  open(): void {
    this.#isOpen = true
    this.draw()
  }

  /** Draws it now, because of what a person did. */
  draw(): void {
    this.#cancel()
    if (!this.#isOpen || !this.#isAtStart) return
    const { stream, clock, text } = this.#parts
    // In the last column a terminal may begin a new line.
    const shown = text((stream.columns ?? 80) - 1)
    const back = shown.cursorBack === 0 ? '' : `\u001b[${shown.cursorBack}D`
    stream.write(`${this.#isDrawn ? erase : ''}${shown.text}${back}`)
    this.#isDrawn = true
    this.#drawnAtMs = clock.nowMs()
  }

  /** Draws it soon, because of what happened. */
  changed(): void {
    this.#drawIn(Math.max(this.#drawnAtMs + redrawMs - this.#parts.clock.nowMs(), 0))
  }

  #hide(): void {
    this.#cancel()
    this.#erase()
  }

  /** Takes it away until the terminal keeps its new width. */
  resized(): void {
    this.#hide()
    this.#drawIn(resizeMs)
  }

  /** Moves what is on the screen up, out of sight but not away, and begins at the top. */
  clear(rows: number): void {
    this.#hide()
    this.#parts.stream.write(`${'\n'.repeat(rows)}\u001b[H\u001b[J`)
    this.draw()
  }

  /** Takes it away until it is opened again. */
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

  /** A drawing that is due stays due: text that comes without end does not put it off. */
  #drawIn(delayMs: number): void {
    if (!this.#isOpen) return
    this.#timer ??= this.#parts.clock.schedule(delayMs, () => this.draw())
  }

  #cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
