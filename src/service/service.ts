import {
  adminApp,
  healthHandler,
  Metrics,
  queueStates,
  type ReplayResult,
} from '../admin-api/index.ts'
import { Archive } from '../archive/index.ts'
import type { DeliveryStore } from '../delivery/index.ts'
import { AddressGuard, listen, type Listening } from '../http/index.ts'
import type { IntakeBatch, IntakeResult } from '../intake/index.ts'
import { messageOf } from '../model/index.ts'
import { createRuntime, type Runtime, type Timer } from '../runtime/index.ts'
import { openStore } from '../store/index.ts'
import { SourceDirectory, trackingApp } from '../tracking-api/index.ts'
import { replayArchive } from './archive-replay.ts'
import {
  changesBetween,
  type Configuration,
  type ConfigurationChange,
  type ConfiguredSource,
} from './configuration/index.ts'
import { DestinationBoard } from './destination-board.ts'
import { Pipeline } from './pipeline.ts'

/** Where a service can be reached. */
export interface ServiceAddress {
  /** The URL of the tracking API, without a path. */
  readonly url: string
  /** Its port. */
  readonly port: number
  /** The URL of the admin API, without a path; null where there is none. */
  readonly admin: string | null
}

/** What a service is made of. */
export interface ServiceOptions {
  /** Its sources, destinations and settings. */
  readonly configuration: Configuration
  /** Clock, randomness, ids and log; those of production by default. Its observer is told too. */
  readonly runtime?: Runtime
  /** Is told what keeps the service from going on; it should be closed then. */
  readonly failed?: (error: unknown) => void
}

/** How often the service looks how much waits. */
const pendingLookMs = 500

/** Receives calls from sources, routes them, and delivers them to destinations. */
export class Service implements AsyncDisposable {
  readonly #store: DeliveryStore
  readonly #runtime: Runtime
  readonly #pipeline: Pipeline
  readonly #metrics: Metrics
  readonly #board: DestinationBoard
  readonly #archives = new Map<string, Archive>()
  readonly #startedAtMs: number
  #configuration: Configuration
  #sources: SourceDirectory<ConfiguredSource>
  #listening: readonly Listening[] = []
  #pending = 0
  #look: Timer | undefined
  #failure: string | undefined
  #closed: Promise<void> | undefined

  private constructor(store: DeliveryStore, options: ServiceOptions) {
    const { configuration, failed } = options
    const given = options.runtime ?? createRuntime()
    this.#store = store
    this.#configuration = configuration
    this.#startedAtMs = given.clock.nowMs()
    this.#metrics = new Metrics({
      queues: () =>
        queueStates(
          store,
          this.#configuration.destinations.map(({ id }) => id),
        ),
      runtime: given,
    })
    this.#board = new DestinationBoard()
    this.#runtime = { ...given, observer: this.#observer(given) }
    const { destinations, retention } = configuration
    this.#pipeline = new Pipeline({
      destinations,
      store,
      runtime: this.#runtime,
      retention,
      guard: guardOf(configuration),
      failed: (error) => {
        this.#failure = messageOf(error)
        failed?.(error)
      },
    })
    this.#sources = directoryOf(configuration)
    this.#configureWatchers()
  }

  /**
   * Opens the store and the ports; resolves once requests are accepted.
   *
   * @throws EvrouteError `store_in_use`, `store_unusable`, `port_in_use` or `cannot_listen`
   */
  static async start(options: ServiceOptions): Promise<Service> {
    const service = new Service(await openStore(options.configuration.store), options)
    try {
      await service.#open()
      return service
    } catch (error) {
      await service.close()
      throw error
    }
  }

  /** Where it can be reached. */
  get address(): ServiceAddress {
    const [tracking, admin] = this.#listening
    return { url: tracking?.url ?? '', port: tracking?.port ?? 0, admin: admin?.url ?? null }
  }

  /**
   * Follows another configuration from now on; nothing that is under way is lost.
   *
   * @returns what differs; what needs a restart stays as it was
   */
  reconfigure(configuration: Configuration): readonly ConfigurationChange[] {
    const changes = changesBetween(this.#configuration, configuration)
    const { listen, admin, store } = this.#configuration
    this.#configuration = { ...configuration, listen, admin, store }
    this.#sources = directoryOf(configuration)
    this.#pipeline.replaceDestinations(configuration.destinations, guardOf(configuration))
    this.#configureWatchers()
    return changes
  }

  /**
   * Accepts nothing more, gives requests under way `graceMs` of real time, returns the rest to the
   * store and closes it. Idempotent.
   */
  close(graceMs = 0): Promise<void> {
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #open(): Promise<void> {
    const { listen: address, admin } = this.#configuration
    const { log } = this.#runtime
    await this.#lookAgain()
    const health = healthHandler(() => this.#reasonsNotReady(), log)
    const tracking = trackingApp({
      sourceOf: (writeKey) => this.#sources.find(writeKey),
      accept: (batch) => this.#accept(batch),
      isFull: () => this.#pending >= this.#configuration.limits.pendingDeliveries,
      runtime: this.#runtime,
      observer: this.#metrics,
      trustedProxies: address.trustedProxies,
    })
    const listening = await listen(
      (request, response) => health(request, response, () => tracking(request, response)),
      address,
    )
    this.#listening = [listening]
    if (admin === undefined) return
    const app = adminApp({
      token: admin.token,
      log: this.#store,
      ledger: () => this.#store.ledger(),
      destinations: () => this.#board.states(this.#store),
      replay: (request): Promise<ReplayResult> => this.#replay(request),
      ready: () => this.#reasonsNotReady(),
      metrics: this.#metrics,
      runtime: this.#runtime,
    })
    const adminListening = await listen(app, { host: '127.0.0.1', port: admin.port })
    this.#listening = [listening, adminListening]
  }

  async #accept(batch: IntakeBatch): Promise<readonly IntakeResult[]> {
    const results = await this.#pipeline.intake.accept(batch)
    const archive = this.#archiveOf(batch.sourceId)
    if (archive === undefined) return results
    const events = results.flatMap((result) =>
      result.kind === 'accepted' && result.outcome !== 'duplicate' ? [result.event] : [],
    )
    try {
      await archive.append(events)
    } catch (error) {
      // They are stored and will be delivered: to refuse them now would deliver them twice.
      this.#runtime.log.warn('events are not archived', { error: messageOf(error) })
    }
    return results
  }

  #archiveOf(sourceId: string): Archive | undefined {
    const source = this.#configuration.sources.find(({ id }) => id === sourceId)
    const directory = source?.archive?.directory
    if (directory === undefined) return undefined
    let archive = this.#archives.get(directory)
    if (archive === undefined) {
      archive = new Archive(directory, this.#startedAtMs)
      this.#archives.set(directory, archive)
    }
    return archive
  }

  #replay(request: Parameters<typeof replayArchive>[1]): Promise<ReplayResult> {
    const { sources, destinations } = this.#configuration
    const add = this.#pipeline.add.bind(this.#pipeline)
    return replayArchive({ sources, destinations, add, runtime: this.#runtime }, request)
  }

  async #reasonsNotReady(): Promise<readonly string[]> {
    if (this.#closed !== undefined) return ['The service is closing']
    if (this.#failure !== undefined) return [this.#failure]
    await this.#store.ledger()
    return []
  }

  async #lookAgain(): Promise<void> {
    const { pending } = await this.#store.ledger()
    this.#pending = pending
    if (this.#closed !== undefined) return
    this.#look = this.#runtime.clock.schedule(pendingLookMs, () => {
      this.#lookAgain().catch((error: unknown) => {
        this.#runtime.log.warn('the store cannot be read', { error: messageOf(error) })
      })
    })
  }

  #configureWatchers(): void {
    const { destinations } = this.#configuration
    this.#metrics.configured(destinations)
    this.#board.configure(destinations)
  }

  #observer({ observer }: Runtime): Runtime['observer'] {
    return {
      request: (record) => {
        this.#metrics.request(record)
        observer.request(record)
      },
      settled: (delivery) => {
        this.#metrics.settled(delivery)
        observer.settled(delivery)
      },
      endpoint: (change) => {
        this.#metrics.endpoint(change)
        this.#board.change(change)
        observer.endpoint(change)
      },
    }
  }

  async #close(graceMs: number): Promise<void> {
    this.#look?.cancel()
    await Promise.all(this.#listening.map((listening) => listening.close(graceMs)))
    await Promise.all([...this.#archives.values()].map((archive) => archive.close()))
    await this.#pipeline.stop(graceMs)
    await this.#pipeline.close()
  }
}

function guardOf({ network }: Configuration): AddressGuard {
  return new AddressGuard({ allow: network.allow })
}

function directoryOf({ sources }: Configuration): SourceDirectory<ConfiguredSource> {
  return new SourceDirectory(sources.map((source) => ({ source, writeKeys: source.writeKeys })))
}
