import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'

/** Whether a file of calls is compressed. */
export type HistoryFormat = 'plain' | 'gz'

/** The formats to measure. */
export const historyFormats: readonly HistoryFormat[] = ['plain', 'gz']

/** One call in 50 is an `identify`. */
export const identifyEvery = 50

/** Rows per write. */
const rowsAtOnce = 1_000

/** Files with one call per line, written on first use. */
export class Histories {
  readonly #folder: string
  readonly #written = new Map<string, Promise<void>>()

  /** @param folder - where they are written */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Returns the path of a file with this many calls. */
  async of(rows: number, format: HistoryFormat): Promise<string> {
    const path = join(this.#folder, `${rows}.${format}`)
    const written = this.#written.get(path) ?? write(path, rows, format)
    this.#written.set(path, written)
    await written
    return path
  }
}

async function write(path: string, rows: number, format: HistoryFormat): Promise<void> {
  const lines = Readable.from(linesOf(rows))
  const file = createWriteStream(path)
  if (format === 'plain') await pipeline(lines, file)
  // The fastest level, because the size of the file doesn't matter.
  else await pipeline(lines, createGzip({ level: constants.Z_BEST_SPEED }), file)
}

function* linesOf(rows: number): Generator<string> {
  for (let from = 0; from < rows; from += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, rows - from)
    yield Array.from(
      { length: count },
      (_, index) => `${JSON.stringify(callOf(from + index))}\n`,
    ).join('')
  }
}

/** A typical call. No two are alike, so that a file compresses no better than a real one. */
function callOf(index: number): object {
  return {
    type: index % identifyEvery === 0 ? 'identify' : 'track',
    event: events[index % events.length],
    userId: `user-${index % 50_000}`,
    messageId: `message-${hexOf(index)}`,
    timestamp: new Date(firstAtMs + index * 1_009).toISOString(),
    properties: {
      orderId: hexOf(index + 1),
      revenue: (index % 20_011) / 100,
      currency: 'EUR',
      coupon: index % 3 === 0 ? 'SUMMER' : null,
    },
    context: { page: { path: `/articles/${hexOf(index + 2).slice(0, 8)}`, title: 'Größe wählen' } },
  }
}

const events = ['Product Viewed', 'Product Added', 'Checkout Started', 'Order Completed']
const firstAtMs = Date.UTC(2026, 0, 2)

/** Sixteen hexadecimal digits that look random. */
function hexOf(number: number): string {
  const digits = (factor: number): string =>
    (Math.imul(number + 1, factor) >>> 0).toString(16).padStart(8, '0')
  return digits(0x9e3779b1) + digits(0x85ebca6b)
}
