import type { BreakerNews, DueTime } from '../../delivery/index.ts'
import type { Lane } from '../../model/index.ts'
import { systemClock, type Timer } from '../../runtime/index.ts'
import { sql } from '../sql.ts'
import { ClosingClient } from './closing-client.ts'
import { clientConfig, connectionAgeMaxMs, type Database } from './database.ts'

const channel = 'evroute_deliveries'

/** How long to wait before replacing a lost connection; doubles after each failure. */
const reconnectMs = { first: 500, greatest: 30_000 }

/** How long to wait for a connection, and for an answer. */
const answerTimeoutMs = 10_000

interface NotificationsOptions {
  readonly url: string
  /** The number of this process. Notifications contain it, so that a process can ignore its own. */
  readonly holder: number
  /**
   * Called with lanes where this process may find deliveries to claim; without an argument if any lane may have some.
   * If undefined, this process does not listen.
   */
  readonly onNotification?: ((dueTimes?: readonly DueTime[]) => void) | undefined
}

/** PostgreSQL's limit for the payload of a notification. */
const payloadBytesMax = 7_999

/**
 * Maximum number of lanes, and of circuit breakers, in the next notification. If there are more lanes, the
 * notification says that any lane may be due. Further breakers are left out.
 */
const waitingMax = 5_000

type DueLane = readonly [destinationId: string, lane: Lane, dueAtMs: number]

/** The content of a notification. Without `due` and `news`, any lane may be due. */
interface Payload {
  readonly holder: number
  readonly due?: readonly DueLane[]
  readonly news?: readonly BreakerNews[]
}

/**
 * Tells other processes about lanes with deliveries to claim and about circuit breakers, and receives their
 * notifications. A process that misses one finds the deliveries when it next polls all destinations.
 *
 * PostgreSQL commits transactions that send notifications one at a time. So each notification has its own transaction,
 * and transactions that write don't wait for one another.
 */
export class Notifications {
  /** Called with news of other processes' circuit breakers. */
  onNews: (news: BreakerNews) => void = () => undefined
  readonly #database: Database
  readonly #options: NotificationsOptions
  #client: ClosingClient | undefined
  #timer: Timer | undefined
  #delayMs = reconnectMs.first
  #sending = false
  /** The lanes in the next notification, by key; `all` if there are too many. */
  #next: Map<string, DueLane> | 'all' = new Map()
  /** The news in the next notification, by endpoint and destination. */
  #news = new Map<string, BreakerNews>()
  #closed = false

  constructor(database: Database, options: NotificationsOptions) {
    this.#database = database
    this.#options = options
    if (options.onNotification !== undefined) void this.#listen()
  }

  /**
   * Tells other processes which lanes have deliveries to claim; without an argument, that any lane may. Calls made
   * while a notification is being sent share the next one.
   */
  announce(dueTimes?: readonly DueTime[]): void {
    if (dueTimes === undefined) this.#next = 'all'
    else for (const due of dueTimes) this.#note(due)
    if (!this.#sending) void this.#send()
  }

  tell(news: BreakerNews): void {
    if (this.#news.size < waitingMax) this.#news.set(`${news.endpoint} ${news.destinationId}`, news)
    if (!this.#sending) void this.#send()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#client?.end()
  }

  #note({ destinationId, lane, dueAtMs }: DueTime): void {
    if (this.#next === 'all') return
    const key = `${lane} ${destinationId}`
    const [, , knownMs = Infinity] = this.#next.get(key) ?? []
    this.#next.set(key, [destinationId, lane, Math.min(dueAtMs, knownMs)])
    if (this.#next.size > waitingMax) this.#next = 'all'
  }

  async #send(): Promise<void> {
    this.#sending = true
    while (this.#next === 'all' || this.#next.size + this.#news.size > 0) {
      const notify = sql`SELECT pg_notify(${channel}, payload)
        FROM unnest(${this.#takePayloads()}::text[]) AS payload`
      await this.#database.rows(notify).catch(() => undefined)
    }
    this.#sending = false
  }

  #takePayloads(): readonly string[] {
    const { holder } = this.#options
    const [due, news] = [this.#next, this.#news]
    this.#next = new Map()
    this.#news = new Map()
    const lanes = due === 'all' ? undefined : payloadsOf(holder, 'due', [...due.values()])
    const all = [JSON.stringify({ holder } satisfies Payload)]
    return [...(lanes ?? all), ...(payloadsOf(holder, 'news', [...news.values()]) ?? [])]
  }

  async #listen(): Promise<void> {
    const client = new ClosingClient({
      ...clientConfig(this.#options.url),
      connectionTimeoutMillis: answerTimeoutMs,
      query_timeout: answerTimeoutMs,
    })
    this.#client = client
    client.on('notification', ({ payload }) => this.#hear(payload))
    client.once('end', () => this.#listenLater(client))
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      this.#delayMs = reconnectMs.first
      // Earlier notifications were missed, so any lane may be due.
      this.#options.onNotification?.()
      this.#replaceLater(client)
    } catch {
      await client.end().catch(() => undefined)
      this.#listenLater(client)
    }
  }

  /** Replaces the connection, which can also fall silent without ending. */
  #replaceLater(client: ClosingClient): void {
    if (this.#closed || this.#client !== client) return
    this.#timer = systemClock.schedule(connectionAgeMaxMs, () => {
      void client.end().catch(() => undefined)
      void this.#listen()
    })
  }

  #hear(text: string | undefined): void {
    const { holder, due, news } = payloadOf(text)
    if (this.#closed || holder === this.#options.holder) return
    for (const each of news ?? []) this.onNews(each)
    if (news !== undefined) return
    this.#options.onNotification?.(
      due?.map(([destinationId, lane, dueAtMs]) => ({ destinationId, lane, dueAtMs })),
    )
  }

  #listenLater(client: ClosingClient): void {
    if (this.#closed || this.#client !== client) return
    this.#client = undefined
    this.#timer?.cancel()
    this.#timer = systemClock.schedule(this.#delayMs, () => void this.#listen())
    this.#delayMs = Math.min(this.#delayMs * 2, reconnectMs.greatest)
  }
}

/** Divides entries among payloads; returns undefined if an entry is too long for a payload. */
function payloadsOf(
  holder: number,
  kind: 'due' | 'news',
  entries: readonly unknown[],
): readonly string[] | undefined {
  const emptyBytes = `{"holder":${holder},"${kind}":[]}`.length
  const payloads: string[][] = []
  let bytes = Infinity
  for (const entry of entries.map((each) => JSON.stringify(each))) {
    const entryBytes = Buffer.byteLength(entry) + 1
    if (emptyBytes + entryBytes > payloadBytesMax) return undefined
    if (bytes + entryBytes > payloadBytesMax) {
      payloads.push([])
      bytes = emptyBytes
    }
    payloads.at(-1)?.push(entry)
    bytes += entryBytes
  }
  return payloads.map((some) => `{"holder":${holder},"${kind}":[${some.join(',')}]}`)
}

/** Parses a payload. The first version of evroute sends only the number of its process. */
function payloadOf(text = ''): Partial<Payload> {
  try {
    const payload = JSON.parse(text) as Payload | number
    return typeof payload === 'number' ? { holder: payload } : payload
  } catch {
    return {}
  }
}
