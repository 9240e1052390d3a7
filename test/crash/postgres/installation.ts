import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { StoreAudit } from '../../../src/delivery/index.ts'
import { openDeliveryLog } from '../../../src/store/index.ts'
import { seededRandom } from '../seeded-random.ts'
import { Watchdog } from '../watchdog.ts'
import { BusyReceiver, processHeader, type Arrival } from './busy-receiver.ts'
import { Load, type Message } from './load.ts'
import { ServiceProcess } from './service-process.ts'
import { deliveryKey, type SharedEvidence, type SharedRecord } from './shared-findings.ts'
import { Tally } from './tally.ts'

/** What is sent where. */
export interface Source {
  readonly id: string
  readonly destinationIds: readonly string[]
  /** One batch of so many is its. */
  readonly batchEvery: number
}

/** What an installation is made of. */
export interface InstallationOptions {
  /** Where the configurations of the processes go. */
  readonly folder: string
  /** The database. */
  readonly store: string
  /** What each destination's endpoint may have in flight. */
  readonly caps: Readonly<Record<string, number>>
  /** Sources; the last one has the batches that no other one has. */
  readonly sources: readonly Source[]
  /** Deliveries that are to be made at the least. */
  readonly deliveries: number
  /** Deliveries that may be under way: enough for a backlog, and never all at once. */
  readonly underwayMax: number
  /** How long endpoints take to answer, in milliseconds. */
  readonly answerMs: { readonly least: number; readonly greatest: number }
  /** Numbers from 0 to 1 come from it: whom clients post to, and how long answers take. */
  readonly seed: number
  /** It fails when nothing new happens for that long. */
  readonly stallMs: number
}

interface GrowingRecord extends SharedRecord {
  isAcknowledged: boolean
  readonly takenFrom: Map<string, number[]>
}

interface FailedRow {
  readonly message_id: string
  readonly destination_id: string
  readonly count: number
}

/** How often it is looked whether everything came to its end. */
const lookEveryMs = 100

/**
 * Services on one database, clients that post to them, and what they deliver to. It counts what happens:
 * `acknowledged`, `requested` and `answered` in all, and by process: `1 answered`.
 */
export class Installation {
  readonly tally = new Tally()
  /** Whether clients post however much is under way: to see that they are refused. */
  postsAnyway = false
  /** Rejects once nothing new happens any more, or a process ended by itself. */
  readonly broken: Promise<never>
  readonly #options: InstallationOptions
  readonly #random: () => number
  readonly #records = new Map<string, GrowingRecord>()
  readonly #processes: ServiceProcess[] = []
  readonly #watchdog: Watchdog
  #break: (error: unknown) => void = () => undefined
  #receiver: BusyReceiver | undefined
  #started = 0
  /** What was acknowledged since somebody asked for what is fresh. */
  readonly #fresh = new Set<string>()
  #underway = 0
  #deliveries = 0
  #mayEnd = false

  constructor(options: InstallationOptions) {
    this.#options = options
    this.#random = seededRandom(options.seed)
    this.#watchdog = new Watchdog(options.stallMs, () => this.#description)
    const failed = new Promise<never>((_, reject) => (this.#break = reject))
    this.broken = Promise.race([this.#watchdog.stalled, failed])
    this.broken.catch(() => undefined)
  }

  /** Starts what webhooks are delivered to. */
  async open(): Promise<void> {
    this.#receiver = await BusyReceiver.start({
      delayMs: () => this.#answerMs(),
      requested: ({ process }) => this.#note('requested', process),
      answered: (arrival) => this.#answered(arrival),
    })
  }

  /** Starts a process; it need not be ready. */
  async start(): Promise<ServiceProcess> {
    const number = ++this.#started
    const { folder } = this.#options
    const document = this.#documentFor(number)
    const process = await ServiceProcess.start({ number, document, folder, tally: this.tally })
    this.#processes.push(process)
    process.lives().catch((error: unknown) => this.#break(error))
    return process
  }

  /** Clients post until enough was delivered and {@link mayEnd} was said; resolves once all is acknowledged. */
  async load(): Promise<void> {
    const load = new Load({
      processes: () => this.#processes,
      message: (batch) => this.#newMessage(batch),
      isEnough: () => this.#mayEnd && this.#deliveries >= this.#options.deliveries,
      isBusy: () => !this.postsAnyway && this.#underway >= this.#options.underwayMax,
      acknowledged: (message, process) => this.#acknowledged(message, process),
      random: this.#random,
      tally: this.tally,
    })
    await load.run()
  }

  /** The load may end. */
  mayEnd(): void {
    this.#mayEnd = true
  }

  /** From now on `answered afresh` counts what was both acknowledged and answered since. */
  beginAfresh(): void {
    this.#fresh.clear()
  }

  /** Waits for something, unless that will never come. */
  or<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([work, this.broken])
  }

  /** Resolves once nothing waits in the store any more. */
  async idle(): Promise<void> {
    const { store } = this.#options
    const log = await openDeliveryLog(store, { write: false })
    try {
      while ((await this.or(log.audit())).ledger.pending > 0) await this.or(pause(lookEveryMs))
    } finally {
      await log.close()
    }
  }

  /** Asks the database, on a connection that no service has. */
  async ask<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await connect(this.#options.store)
    try {
      return (await client.query<Row>(sql, [...values])).rows
    } finally {
      await client.end()
    }
  }

  /** Lets all processes end, and tells what was seen. */
  async evidence(): Promise<SharedEvidence> {
    for (const process of this.#processes) if (!process.isKilled) await this.or(process.close())
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

  /** Ends whatever still runs. */
  async end(): Promise<void> {
    this.#watchdog.stop()
    await Promise.all(this.#processes.map((process) => process.kill()))
    await this.#receiver?.close()
  }

  get #description(): string {
    const open = [...this.#records.values()].filter(({ isAcknowledged }) => !isAcknowledged)
    return `${this.tally.description}; ${this.#underway} under way, ${open.length} not acknowledged`
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
    this.#records.set(messageId, { message, isAcknowledged: false, takenFrom: new Map() })
    this.#underway += destinationIds.length
    this.#deliveries += destinationIds.length
    return message
  }

  #acknowledged({ messageId }: Message, process: number): void {
    const record = this.#records.get(messageId)
    if (record !== undefined) record.isAcknowledged = true
    this.#fresh.add(messageId)
    this.#watchdog.progressed()
    this.#note('acknowledged', process)
  }

  #answered({ destinationId, messageId, process }: Arrival): void {
    const { takenFrom } = this.#records.get(messageId) ?? {}
    const from = takenFrom?.get(destinationId)
    if (from === undefined) {
      takenFrom?.set(destinationId, [process])
      this.#underway--
      this.#watchdog.progressed()
    } else {
      from.push(process)
    }
    this.#note('answered', process)
    if (this.#fresh.has(messageId)) this.tally.note('answered afresh')
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
    const rows = await this.ask<FailedRow>(
      `SELECT message_id, destination_id, count(*)::integer AS count
      FROM evroute_requests request JOIN evroute_deliveries delivery USING (destination_id)
      WHERE delivery.id = delivery_id AND outcome <> 'success' GROUP BY message_id, destination_id`,
    )
    return new Map(rows.map((row) => [deliveryKey(row.message_id, row.destination_id), row.count]))
  }

  /** By somebody who had no part in it. */
  async #audit(): Promise<StoreAudit> {
    const log = await openDeliveryLog(this.#options.store, { write: false })
    try {
      return await log.audit()
    } finally {
      await log.close()
    }
  }
}

/** Connects to a database; that the connection is lost is shown by the next statement. */
export async function connect(store: string): Promise<Client> {
  const client = new Client({ connectionString: store })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

function writeKeyOf(sourceId: string): string {
  return `wk_${sourceId}`
}
