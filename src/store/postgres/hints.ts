import type { BreakerNews, DueTime, RetryRequest } from '../../delivery/index.ts'
import type { Lane } from '../../model/index.ts'
import { systemClock, type Timer } from '../../runtime/index.ts'
import { ClosingClient } from './closing-client.ts'
import { sessionUrl } from './connection-url.ts'
import { keepAlive, type Database } from './database.ts'

const channel = 'evroute_deliveries'

/** The wait before a lost connection is replaced. It doubles after each failure. */
const reconnectMs = { first: 500, greatest: 30_000 }

/** The limit for connecting and for the LISTEN statement. */
const answerTimeoutMs = 10_000

/** Options of {@link Hints}. */
export interface HintsOptions {
  /** The URL of the database. */
  readonly url: string
  /** The number of this process, which ignores its own notifications. */
  readonly holder: number
  /** Learns what other processes have left to claim; anything if it gets no argument. */
  readonly onHint: ((dueTimes?: readonly DueTime[]) => void) | undefined
}

/** The payload of a notification must be shorter than 8,000 bytes. */
const payloadBytesMax = 7_999

/** With more lanes than this, the notification says that anything may be due. More news are dropped. */
const toldMax = 5_000

/** A lane in a notification: the destination, the lane, and when it is due. */
type ToldLane = readonly [destinationId: string, lane: Lane, dueAtMs: number]

/** A notification; without `due` and `news`, anything may be due. */
interface Hint {
  readonly holder: number
  readonly due?: readonly ToldLane[]
  readonly news?: readonly BreakerNews[]
}

/**
 * Notifies the other processes on a database which lanes have something to claim and when it is due,
 * and what it found of endpoints. It receives their notifications. A process that misses one finds the deliveries when it looks at
 * all destinations, which it does from time to time.
 *
 * A notification is sent in a transaction of its own, after the transaction that it is about:
 * transactions that notify commit one after the other, and none of them should wait for the disk
 * meanwhile.
 */
export class Hints {
  readonly #database: Database
  readonly #options: HintsOptions
  #client: ClosingClient | undefined
  #timer: Timer | undefined
  #delayMs = reconnectMs.first
  #telling = false
  /** Learns what other processes found of endpoints. */
  onNews: (news: BreakerNews) => void = () => undefined
  /** The news of the next notification, by endpoint. */
  #news = new Map<string, BreakerNews>()
  /** The next notification; `everything` if it names too many lanes. */
  #next: Map<string, ToldLane> | 'everything' = new Map()
  #closed = false

  constructor(database: Database, options: HintsOptions) {
    this.#database = database
    this.#options = options
    if (options.onHint !== undefined) void this.#listen()
  }

  /**
   * Notifies the others of lanes with something to claim; of all lanes if it gets no argument. Calls
   * during a notification are joined in the next one.
   */
  announce(dueTimes?: readonly DueTime[]): void {
    if (dueTimes === undefined) this.#next = 'everything'
    else for (const due of dueTimes) this.#note(due)
    if (!this.#telling) void this.#tell()
  }

  /** Notifies the others of an endpoint. */
  tell(news: BreakerNews): void {
    if (this.#news.size < toldMax) this.#news.set(`${news.endpoint} ${news.destinationId}`, news)
    if (!this.#telling) void this.#tell()
  }

  /** Stops listening. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#client?.end()
  }

  #note({ destinationId, lane, dueAtMs }: DueTime): void {
    if (this.#next === 'everything') return
    const key = `${lane} ${destinationId}`
    const [, , knownMs = Infinity] = this.#next.get(key) ?? []
    this.#next.set(key, [destinationId, lane, Math.min(dueAtMs, knownMs)])
    if (this.#next.size > toldMax) this.#next = 'everything'
  }

  async #tell(): Promise<void> {
    this.#telling = true
    while (this.#next === 'everything' || this.#next.size + this.#news.size > 0) {
      const sql = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload'
      const values = [channel, this.#takePayloads()]
      await this.#database.rows({ sql, values }).catch(() => undefined)
    }
    this.#telling = false
  }

  #takePayloads(): readonly string[] {
    const { holder } = this.#options
    const everything = [JSON.stringify({ holder } satisfies Hint)]
    const due = this.#next
    const news = [...this.#news.values()]
    this.#next = new Map()
    this.#news = new Map()
    const duePayloads =
      due === 'everything'
        ? everything
        : (payloadsOf(holder, 'due', [...due.values()]) ?? everything)
    return [...duePayloads, ...(payloadsOf(holder, 'news', news) ?? [])]
  }

  async #listen(): Promise<void> {
    const client = this.#newClient()
    this.#client = client
    if (client === undefined) {
      this.#listenLater(client)
      return
    }
    client.on('notification', ({ payload }) => this.#hear(payload))
    client.once('end', () => this.#listenLater(client))
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      this.#delayMs = reconnectMs.first
      // Notifications from before are lost.
      this.#options.onHint?.()
    } catch {
      await client.end().catch(() => undefined)
      this.#listenLater(client)
    }
  }

  #hear(payload: string | undefined): void {
    const { holder, due, news } = hintOf(payload)
    if (this.#closed || holder === this.#options.holder) return
    if (news !== undefined) {
      for (const each of news) this.onNews(each)
      return
    }
    const dueTimes = due?.map(([destinationId, lane, dueAtMs]) => ({
      destinationId,
      lane,
      dueAtMs,
    }))
    this.#options.onHint?.(dueTimes)
  }

  /**
   * Undefined if a file that the URL names cannot be read, for example while certificates are
   * replaced.
   */
  #newClient(): ClosingClient | undefined {
    try {
      return new ClosingClient({
        connectionString: sessionUrl(this.#options.url, { isReadOnly: false }),
        fallback_application_name: 'evroute',
        connectionTimeoutMillis: answerTimeoutMs,
        query_timeout: answerTimeoutMs,
        ...keepAlive,
      })
    } catch {
      return undefined
    }
  }

  #listenLater(client: ClosingClient | undefined): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    this.#timer = systemClock.schedule(this.#delayMs, () => void this.#listen())
    this.#delayMs = Math.min(this.#delayMs * 2, reconnectMs.greatest)
  }
}

/** The lane that a retry by hand makes due; undefined if its filter names no destination. */
export function retriedLanes({ filter, nowMs }: RetryRequest): readonly DueTime[] | undefined {
  const { destinationId } = filter
  if (destinationId === undefined) return undefined
  return [{ destinationId, lane: 'manual', dueAtMs: nowMs }]
}

/** Divides what is told among payloads; undefined if something is too long for one. */
function payloadsOf(
  holder: number,
  kind: 'due' | 'news',
  told: readonly unknown[],
): readonly string[] | undefined {
  const emptyBytes = Buffer.byteLength(JSON.stringify({ holder, [kind]: [] }))
  const payloads: string[][] = []
  let bytes = Infinity
  for (const each of told) {
    const text = JSON.stringify(each)
    const textBytes = Buffer.byteLength(text) + 1
    if (emptyBytes + textBytes > payloadBytesMax) return undefined
    if (bytes + textBytes > payloadBytesMax) {
      payloads.push([])
      bytes = emptyBytes
    }
    payloads.at(-1)?.push(text)
    bytes += textBytes
  }
  return payloads.map((some) => `{"holder":${holder},"${kind}":[${some.join(',')}]}`)
}

/** Reads a notification. Earlier versions send only their number. */
function hintOf(payload = ''): Partial<Hint> {
  try {
    const hint = JSON.parse(payload) as Hint | number
    return typeof hint === 'number' ? { holder: hint } : hint
  } catch {
    return {}
  }
}
