import type { Clock, Timer } from './clock.ts'
import type { Log, LogFields, LogLine } from './log.ts'

/** Interval between reports of repeated lines. */
const intervalMs = 60_000

/** Above this many kinds, lines with the same level and message are one kind, even if their fields differ. */
const kindsMax = 1_000

/** Fields that may differ between lines of one kind. All other fields distinguish kinds. */
const occurrenceFields: ReadonlySet<string> = new Set(['messageId', 'error', 'others'])

interface Kind {
  readonly write: LogLine
  readonly message: string
  fields: LogFields | undefined
  repeated: number
  /** Whether no line of the kind has come since the interval began. */
  isQuiet: boolean
}

/**
 * Keeps the log readable during an outage. Lines are of one kind if their level, message and fields are equal, apart
 * from fields such as messageId. The first line of a kind is written at once. Then one line a minute tells the number
 * of repetitions.
 */
export class CoalescingLog implements Log {
  readonly debug: LogLine
  readonly info: LogLine
  readonly warn: LogLine
  /** Like `info`, but writes repetitions too. */
  readonly each: LogLine
  readonly #clock: Clock
  /** The kinds of lines, in the order of their last lines. Repetitions are reported in this order. */
  readonly #kinds = new Map<string, Kind>()
  #timer: Timer | undefined
  #isClosed = false

  constructor(log: Log, clock: Clock) {
    this.#clock = clock
    this.each = log.info
    this.debug = (message, fields) =>
      this.#add({ level: 'debug', write: log.debug, message }, fields)
    this.info = (message, fields) => this.#add({ level: 'info', write: log.info, message }, fields)
    this.warn = (message, fields) => this.#add({ level: 'warn', write: log.warn, message }, fields)
  }

  /** Writes the pending repetitions. From then on every line is written at once. Idempotent. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    for (const kind of this.#kinds.values()) reportRepeated(kind)
    this.#kinds.clear()
  }

  #add(line: Line, fields: LogFields | undefined): void {
    const { write, message } = line
    if (this.#isClosed) {
      write(message, fields)
      return
    }
    const key = this.#keyOf(line, fields)
    const known = this.#kinds.get(key)
    this.#kinds.delete(key)
    if (known === undefined) {
      this.#kinds.set(key, { write, message, fields, repeated: 0, isQuiet: false })
      write(message, fields)
    } else {
      this.#kinds.set(key, known)
      known.fields = fields
      known.repeated++
      known.isQuiet = false
    }
    this.#timer ??= this.#clock.schedule(intervalMs, () => this.#report())
  }

  #keyOf({ level, message }: Line, fields: LogFields = {}): string {
    const rest = Object.entries(fields).filter(([name]) => !occurrenceFields.has(name))
    const key = JSON.stringify([level, message, rest])
    const isFull = this.#kinds.size >= kindsMax && !this.#kinds.has(key)
    return isFull ? JSON.stringify([level, message]) : key
  }

  #report(): void {
    for (const [key, kind] of this.#kinds) {
      // Forget a kind after an interval without lines. Its next line is written at once.
      if (kind.isQuiet) this.#kinds.delete(key)
      reportRepeated(kind)
      kind.isQuiet = true
    }
    const isIdle = this.#kinds.size === 0
    this.#timer = isIdle ? undefined : this.#clock.schedule(intervalMs, () => this.#report())
  }
}

interface Line {
  readonly level: keyof Log
  readonly write: LogLine
  readonly message: string
}

function reportRepeated(kind: Kind): void {
  const { write, message, fields, repeated } = kind
  if (repeated > 0) write(message, { ...fields, repeated })
  kind.repeated = 0
}
