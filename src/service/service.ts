import type { RequestListener } from 'node:http'
import {
  adminApp,
  adminFaultAnswer,
  healthHandler,
  Metrics,
  queueStates,
  type ReplayRequest,
  type ReplayResult,
} from '../admin-api/index.ts'
import type { DeliveryStore } from '../delivery/index.ts'
import { AddressGuard, listen, type ListenAddress, type Listening } from '../http/index.ts'
import type { IntakeBatch, IntakeResult } from '../intake/index.ts'
import { EvrouteError, messageOf } from '../model/index.ts'
import { createRuntime, sleep, type Runtime, type Timer } from '../runtime/index.ts'
import { MemoryStore, openStore } from '../store/index.ts'
import { SourceDirectory, trackingApp, trackingFaultAnswer } from '../tracking-api/index.ts'
import { replayArchive } from './archive-replay.ts'
import { Archives } from './archives.ts'
import {
  changesBetween,
  type Configuration,
  type ConfigurationChange,
  type ConfiguredSource,
} from './configuration/index.ts'
import { DestinationBoard } from './destination-board.ts'
import { PendingCount } from './pending-count.ts'
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

/** How often the service asks the store how much waits. */
const pendingLookMs = 500
/** For how long a service is not ready after the store did not take something. */
const refusedMs = 5_000

/** Receives calls from sources, routes them, and delivers them to destinations. */
export class Service implements AsyncDisposable {
  readonly #store: DeliveryStore
  readonly #runtime: Runtime
  readonly #pipeline: Pipeline
  readonly #metrics: Metrics
  readonly #board = new DestinationBoard()
  readonly #pending = new PendingCount()
  readonly #archives: Archives
  readonly #ending = new AbortController()
  readonly #accepting = new Set<Promise<unknown>>()
  #configuration: Configuration
  #guard: AddressGuard
  #sources: SourceDirectory<ConfiguredSource>
  #admin: RequestListener | undefined
  #listening: readonly Listening[] = []
  #look: Timer | undefined
  #isStoreSilent = false
  #refusedAtMs = -Infinity
  #hasFailed = false
  #closed: Promise<void> | undefined

  private constructor(store: DeliveryStore, options: ServiceOptions) {
    const { configuration, failed } = options
    const given = options.runtime ?? createRuntime()
    this.#store = store
    this.#configuration = configuration
    this.#archives = new Archives(given.clock.nowMs())
    this.#metrics = new Metrics({
      queues: () =>
        queueStates(
          store,
          this.#configuration.destinations.map(({ id }) => id),
        ),
      runtime: given,
    })
    this.#runtime = { ...given, observer: this.#observer(given) }
    const { destinations, retention } = configuration
    this.#guard = guardOf(configuration)
    this.#pipeline = new Pipeline({
      destinations,
      store,
      runtime: this.#runtime,
      retention,
      guard: this.#guard,
      connection: (use) => this.#metrics.connection(use),
      pending: this.#pending,
      failed: (error) => {
        this.#hasFailed = true
        failed?.(error)
      },
    })
    this.#sources = directoryOf(configuration)
    this.#watchDestinations()
  }

  /**
   * Opens the store and the ports; resolves once requests are accepted.
   *
   * @throws EvrouteError `store_in_use`, `store_unusable`, `port_in_use` or `cannot_listen`
   */
  static async start(options: ServiceOptions): Promise<Service> {
    const store = await storeOf(options.configuration)
    let service: Service | undefined
    try {
      service = new Service(store, options)
      await service.#open()
      return service
    } catch (error) {
      await (service ?? store).close()
      throw error
    }
  }

  /** Where it can be reached. */
  get address(): ServiceAddress {
    const [tracking, admin] = this.#listening
    return { url: tracking?.url ?? '', port: tracking?.port ?? 0, admin: admin?.url ?? null }
  }

  /**
   * Follows another configuration from now on; nothing that is under way is lost. A service that is
   * closed follows none.
   *
   * @returns what differs; what needs a restart stays as it was
   */
  reconfigure(configuration: Configuration): readonly ConfigurationChange[] {
    if (this.#closed !== undefined) return []
    const guard = guardOf(configuration)
    const changes = changesBetween(this.#configuration, configuration)
    // Where the same addresses are allowed, connections that are open stay so.
    if (isAbout(changes, /^network\./)) this.#guard = guard
    const { listen, admin, store } = this.#configuration
    const token = configuration.admin?.token ?? admin?.token ?? ''
    this.#configuration = { ...configuration, listen, admin: admin && { ...admin, token }, store }
    this.#sources = directoryOf(configuration)
    this.#admin = this.#newAdmin()
    if (isAbout(changes, /^retention\./)) this.#pipeline.replaceRetention(configuration.retention)
    if (isAbout(changes, /^(destinations|network)\.|^retention\.messageIds$/)) {
      this.#pipeline.replaceDestinations(configuration.destinations, this.#guard)
      this.#watchDestinations()
    }
    return changes
  }

  /**
   * Accepts nothing more, gives requests under way `graceMs` of real time, those of sources and those
   * to endpoints at once; returns the rest to the store and closes it. Idempotent.
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
    await this.#pending.look(this.#store)
    this.#planLook()
    const health = healthHandler(() => this.#reasonsNotReady(), log)
    const tracking = trackingApp({
      sourceOf: (writeKey) => this.#sources.find(writeKey),
      accept: (batch) => this.#accept(batch),
      isFull: () => this.#pending.isFull(this.#configuration.limits.pendingDeliveries),
      runtime: this.#runtime,
      observer: this.#metrics,
      trustedProxies: address.trustedProxies,
    })
    const listening = await listenFor(
      'listen',
      (request, response) => health(request, response, () => tracking(request, response)),
      address,
    )
    this.#listening = [listening]
    if (admin !== undefined) {
      this.#admin = this.#newAdmin()
      const adminListening = await listenFor(
        'admin',
        (request, response) => this.#admin?.(request, response),
        { host: '127.0.0.1', port: admin.port },
      )
      this.#listening = [listening, adminListening]
    }
    // What a run before has left is not sent sooner: this one could have failed to start.
    this.#pipeline.wake()
  }

  #newAdmin(): RequestListener | undefined {
    const { admin, sources } = this.#configuration
    if (admin === undefined) return undefined
    const hasArchive = sources.some(({ archive }) => archive !== undefined)
    return adminApp({
      token: admin.token,
      log: {
        list: (request) => this.#store.list(request),
        story: (request) => this.#store.story(request),
        audit: () => this.#store.audit(),
        retry: async (request) => {
          const count = await this.#store.retry(request)
          if (count > 0) this.#pipeline.wake()
          return count
        },
      },
      ledger: () => this.#store.ledger(),
      destinations: () => this.#board.states(this.#store),
      ...(hasArchive ? { replay: (request) => this.#replay(request) } : {}),
      ready: () => this.#reasonsNotReady(),
      metrics: this.#metrics,
      runtime: this.#runtime,
    })
  }

  async #accept(batch: IntakeBatch): Promise<readonly IntakeResult[]> {
    const work = this.#takeIn(batch)
    this.#accepting.add(work)
    try {
      return await work
    } catch (error) {
      this.#refusedAtMs = this.#runtime.clock.nowMs()
      throw error
    } finally {
      this.#accepting.delete(work)
    }
  }

  async #takeIn(batch: IntakeBatch): Promise<readonly IntakeResult[]> {
    const results = await this.#pipeline.intake.accept(batch)
    const source = this.#configuration.sources.find(({ id }) => id === batch.sourceId)
    await this.#archives.keep(source, results)
    this.#refusedAtMs = -Infinity
    return results
  }

  #replay(request: ReplayRequest): Promise<ReplayResult> {
    const { sources, destinations } = this.#configuration
    const add = this.#pipeline.add.bind(this.#pipeline)
    const roomed = (): Promise<void> => this.#roomed()
    return replayArchive({ sources, destinations, add, roomed, runtime: this.#runtime }, request)
  }

  /** A replay takes half of what may wait at the most: the rest is for what comes in meanwhile. */
  async #roomed(): Promise<void> {
    const { signal } = this.#ending
    while (this.#pending.isFull(this.#configuration.limits.pendingDeliveries / 2)) {
      if (!(await sleep(this.#runtime.clock, pendingLookMs, signal))) signal.throwIfAborted()
    }
  }

  /** In words that anybody may read; the log has the details. */
  async #reasonsNotReady(): Promise<readonly string[]> {
    if (this.#closed !== undefined) return ['The service is closing']
    if (this.#hasFailed) return ['The store failed: nothing is delivered any more']
    if (this.#runtime.clock.nowMs() - this.#refusedAtMs < refusedMs) {
      return ['The store or an archive does not take events']
    }
    await this.#store.ledger()
    return []
  }

  #planLook(): void {
    if (this.#closed !== undefined) return
    this.#look = this.#runtime.clock.schedule(pendingLookMs, () => void this.#lookAgain())
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#pending.look(this.#store)
      this.#isStoreSilent = false
    } catch (error) {
      // Said once, not twice a second.
      if (!this.#isStoreSilent && this.#closed === undefined) {
        this.#runtime.log.warn('the store cannot be read', { error: messageOf(error) })
      }
      this.#isStoreSilent = true
    }
    this.#planLook()
  }

  #watchDestinations(): void {
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
        this.#pending.ended()
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
    this.#ending.abort(new Error('The service is closing'))
    await Promise.all([
      ...this.#listening.map((listening) => listening.close(graceMs)),
      this.#pipeline.stop(graceMs),
    ])
    await this.#pipeline.close()
    // What was stored before the end is archived too.
    await Promise.allSettled(this.#accepting)
    await this.#archives.close()
  }
}

/** In memory the bound is that of the service, which refuses where the store would let callers wait. */
async function storeOf({ store }: Configuration): Promise<DeliveryStore> {
  return store === 'memory:' ? new MemoryStore({ pendingMax: Infinity }) : openStore(store)
}

/** What a request is answered that has a fault, on each port as its clients know it. */
const faultAnswers = { listen: trackingFaultAnswer, admin: adminFaultAnswer }

async function listenFor(
  setting: 'listen' | 'admin',
  handler: RequestListener,
  address: ListenAddress,
): Promise<Listening> {
  try {
    return await listen(handler, address, { answerFault: faultAnswers[setting] })
  } catch (error) {
    if (!(error instanceof EvrouteError) || error.code !== 'port_in_use') throw error
    const { code, message } = error
    const hint = `Set ${setting}.port to another one, or to 0 for a free one.`
    throw new EvrouteError({ code, message, hint, cause: error })
  }
}

function isAbout(changes: readonly ConfigurationChange[], settings: RegExp): boolean {
  return changes.some(({ setting }) => settings.test(setting))
}

function guardOf({ network }: Configuration): AddressGuard {
  return new AddressGuard({ allow: network.allow })
}

function directoryOf({ sources }: Configuration): SourceDirectory<ConfiguredSource> {
  return new SourceDirectory(sources.map((source) => ({ source, writeKeys: source.writeKeys })))
}
