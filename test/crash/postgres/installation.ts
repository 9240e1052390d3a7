import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { StoreAudit } from '../../../src/delivery/index.ts'
import { openDeliveryLog } from '../../../src/store/index.ts'
import { seededRandom } from '../../../src/receiver/faults/seeded-random.ts'
import { Watchdog } from '../watchdog.ts'
import { BusyReceiver, processHeader, type Arrival } from './busy-receiver.ts'
import { Load, type Message } from './load.ts'
import { ServiceProcess } from './service-process.ts'
import { deliveryKey, type SharedEvidence, type SharedRecord } from './shared-findings.ts'
import { Tally } from './tally.ts'

/** A source, and the destinations of its messages. */
export interface Source {
  readonly id: string
  readonly destinationIds: readonly string[]
  /** One batch in this many belongs to it. */
  readonly batchEvery: number
}

export interface InstallationOptions {
  /** The folder for the configurations of the processes. */
  readonly folder: string
  /** The URL of the database. */
  readonly store: string
  /** The concurrency of each destination. */
  readonly caps: Readonly<Record<string, number>>
  /** The sources. The last one gets all batches that belong to no other. */
  readonly sources: readonly Source[]
  /** The least number of deliveries. */
  readonly deliveries: number
  /** Deliveries that may be outstanding: enough for a backlog, but never all at once. */
  readonly outstandingMax: number
  /** How long endpoints take to answer, in milliseconds. */
  readonly answerMs: { readonly least: number; readonly greatest: number }
  /** Seed of the random numbers, which decide where clients post, and how long answers take. */
  readonly seed: number
  /** A run fails if it makes no progress for this long. */
  readonly stallMs: number
}

interface GrowingRecord extends SharedRecord {
  isAcknowledged: boolean
  readonly deliveredBy: Map<string, number[]>
}

interface FailedRow {
  readonly message_id: string
  readonly destination_id: string
  readonly count: number
}

/** The interval between checks for pending deliveries. */
const pollEveryMs = 100

/**
 * Services on one database, with their clients and endpoints. It counts what is `acknowledged`, `requested`
 * and `answered`, in total and by process (`1 answered`).
 */
export class Installation {
  readonly tally = new Tally()
  /** Whether clients ignore the limit of outstanding deliveries, so that they get refused. */
  postsAnyway = false
  /** Rejects if there is no progress, or if a process ends unexpectedly. */
  readonly broken: Promise<never>
  readonly #options: InstallationOptions
  readonly #random: () => number
  readonly #records = new Map<string, GrowingRecord>()
  readonly #processes: ServiceProcess[] = []
  readonly #watchdog: Watchdog
  #break: (error: unknown) => void = () => undefined
  #receiver: BusyReceiver | undefined
  #started = 0
  /** Messages that were acknowledged since {@link forgetRecent}. */
  readonly #recent = new Set<string>()
  #outstanding = 0
  #deliveries = 0
  #isEndAllowed = false

  constructor(options: InstallationOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed)
    this.#watchdog = new Watchdog(options.stallMs, () => this.#description)
    const failed = new Promise<never>((_, reject) => (this.#break = reject))
    this.broken = Promise.race([this.#watchdog.stalled, failed])
    this.broken.catch(() => undefined)
  }

  /** Starts the endpoints. */
  async open(): Promise<void> {
    this.#receiver = await BusyReceiver.start({
      delayMs: () => this.#answerMs(),
      requested: ({ process }) => this.#note('requested', process),
      answered: (arrival) => this.#answered(arrival),
    })
  }

  /** Starts a process, without waiting until it is ready. */
  async start(): Promise<ServiceProcess> {
    const number = ++this.#started
    const { folder } = this.#options
    const document = this.#documentFor(number)
    const process = await ServiceProcess.start({ number, document, folder, tally: this.tally })
    this.#processes.push(process)
    process.untilFailed().catch((error: unknown) => this.#break(error))
    return process
  }

  /**
   * Runs the clients until {@link allowEnd} was called and there are enough deliveries. Resolves once all
   * messages are acknowledged.
   */
  async load(): Promise<void> {
    const load = new Load({
      processes: () => this.#processes,
      message: (batch) => this.#newMessage(batch),
      isEnough: () => this.#isEndAllowed && this.#deliveries >= this.#options.deliveries,
      isBusy: () => !this.postsAnyway && this.#outstanding >= this.#options.outstandingMax,
      acknowledged: (message, process) => this.#acknowledged(message, process),
      random: this.#random,
      tally: this.tally,
    })
    await load.run()
  }

  allowEnd(): void {
    this.#isEndAllowed = true
  }

  /** From now on, `answered recent` counts messages that were both acknowledged and answered since. */
  forgetRecent(): void {
    this.#recent.clear()
  }

  /** Waits for `work`, but rejects as soon as {@link broken} does. */
  unlessBroken<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([work, this.broken])
  }

  /** Resolves once nothing is pending in the store. */
  async idle(): Promise<void> {
    const { store } = this.#options
    const log = await openDeliveryLog(store, { write: false })
    try {
      while ((await this.unlessBroken(log.audit())).ledger.pending > 0)
        await this.unlessBroken(pause(pollEveryMs))
    } finally {
      await log.close()
    }
  }

  /** Runs a statement on its own connection. */
  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await connect(this.#options.store)
    try {
      return (await client.query<Row>(sql, [...values])).rows
    } finally {
      await client.end()
    }
  }

  /** Ends all processes, and returns what was observed. */
  async evidence(): Promise<SharedEvidence> {
    for (const process of this.#processes)
      if (!process.isKilled) await this.unlessBroken(process.close())
    const killed = this.#processes.filter(({ isKilled }) => isKilled)
    const most = this.#receiver?.inFlightMax
    const caps = Object.entries(this.#options.caps)
    return {
      records: [...this.#records.values()],
      killed: new Set(killed.map(({ number }) => number)),
      inFlight: new Map(caps.map(([id, cap]) => [id, { cap, most: most?.get(id) ?? 0 }])),
      failedRequests: await this.#failedRequests(),
      audit: await this.#audit(),
    }
  }

  /** Kills all processes, and closes the endpoints. */
  async end(): Promise<void> {
    this.#watchdog.stop()
    await Promise.all(this.#processes.map((process) => process.kill()))
    await this.#receiver?.close()
  }

  get #description(): string {
    const open = [...this.#records.values()].filter(({ isAcknowledged }) => !isAcknowledged)
    return `${this.tally.description}; ${this.#outstanding} outstanding, ${open.length} not acknowledged`
  }

  #documentFor(process: number): object {
    const { store, caps, sources } = this.#options
    return {
      listen: { port: 0 },
      store,
      network: { allow: ['127.0.0.0/8'] },
      sources: sources.map(({ id }) => ({ id, writeKeys: [writeKeyOf(id)] })),
      destinations: Object.entries(caps).map(([id, concurrency]) => ({
        id,
        type: 'Webhooks',
        sources: sources
          .filter(({ destinationIds }) => destinationIds.includes(id))
          .map((each) => each.id),
        endpoints: [
          { url: this.#receiver?.urlFor(id), headers: { [processHeader]: `${process}` } },
        ],
        concurrency,
      })),
    }
  }

  #newMessage(batch: number): Message {
    const { sources } = this.#options
    const source = sources.find(({ batchEvery }) => batch % batchEvery === 0) ?? sources.at(-1)
    const { id = '', destinationIds = [] } = source ?? {}
    const messageId = `m_${this.#records.size + 1}`
    const message = { messageId, writeKey: writeKeyOf(id), destinationIds }
    this.#records.set(messageId, { message, isAcknowledged: false, deliveredBy: new Map() })
    this.#outstanding += destinationIds.length
    this.#deliveries += destinationIds.length
    return message
  }

  #acknowledged({ messageId }: Message, process: number): void {
    const record = this.#records.get(messageId)
    if (record !== undefined) record.isAcknowledged = true
    this.#recent.add(messageId)
    this.#watchdog.progressed()
    this.#note('acknowledged', process)
  }

  #answered({ destinationId, messageId, process }: Arrival): void {
    const { deliveredBy } = this.#records.get(messageId) ?? {}
    const from = deliveredBy?.get(destinationId)
    if (from === undefined) {
      deliveredBy?.set(destinationId, [process])
      this.#outstanding--
      this.#watchdog.progressed()
    } else {
      from.push(process)
    }
    this.#note('answered', process)
    if (this.#recent.has(messageId)) this.tally.note('answered recent')
  }

  #note(what: string, process: number): void {
    this.tally.note(what)
    this.tally.note(`${process} ${what}`)
  }

  #answerMs(): number {
    const { least, greatest } = this.#options.answerMs
    return least + this.#random() * (greatest - least)
  }

  async #failedRequests(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.query<FailedRow>(
      `SELECT message_id, destination_id, count(*)::integer AS count
      FROM evroute_requests request JOIN evroute_deliveries delivery USING (destination_id)
      WHERE delivery.id = delivery_id AND outcome <> 'success' GROUP BY message_id, destination_id`,
    )
    return new Map(rows.map((row) => [deliveryKey(row.message_id, row.destination_id), row.count]))
  }

  /** Audits the store from this process, which took no part in the deliveries. */
  async #audit(): Promise<StoreAudit> {
    const log = await openDeliveryLog(this.#options.store, { write: false })
    try {
      return await log.audit()
    } finally {
      await log.close()
    }
  }
}

/** Connects to a database. A lost connection makes the next statement fail. */
export async function connect(store: string): Promise<Client> {
  const client = new Client({ connectionString: store })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

function writeKeyOf(sourceId: string): string {
  return `wk_${sourceId}`
}
