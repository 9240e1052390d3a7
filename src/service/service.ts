import type { RequestListener } from 'node:http'
import {
  adminApp,
  healthHandler,
  Metrics,
  queueStates,
  StoreFiguresWatch,
} from '../admin-api/index.ts'
import { DestinationFaults, type DueTime } from '../delivery/index.ts'
import { AddressGuard, PageSessions, type Listening } from '../http/index.ts'
import type { IntakeBatch, IntakeOutcome } from '../intake/index.ts'
import { CoalescingLog, createRuntime, systemClock, type Runtime } from '../runtime/index.ts'
import type { Store } from '../store/index.ts'
import { closedTrackingPort, SourceDirectory, trackingApp } from '../tracking-api/index.ts'
import { ArchiveReplay } from './archive-replay.ts'
import { Archives, abandonedArchives } from './archives.ts'
import { AudienceSyncs } from './audience-syncs.ts'
import { waitForRoom } from './backlog-room.ts'
import {
  changesBetween,
  followed,
  isAbout,
  withSwitches,
  type Configuration,
  type ConfigurationChange,
  type ConfiguredSource,
} from './configuration/index.ts'
import { destinationActions } from './destination-actions.ts'
import { observedRuntime } from './observe.ts'
import { destinationStates, sourcesState } from './states.ts'
import { AddingBytes, Pipeline } from '../pipeline/index.ts'
import { logOrphanedBacklogs, orphanedBacklogs } from './orphaned-backlogs.ts'
import { Readiness } from './readiness.ts'
import type { ServiceAddress, ServiceOptions, ServiceRole, ServiceWork } from './service-options.ts'
import { listenFor, openServiceStore, senderThreads } from './service-parts.ts'
import { ServiceRegulations } from './service-regulations.ts'
import { tracingOfProcess, type Tracing } from './tracing.ts'

/** How long closing waits for the store's server after the grace period, in milliseconds of real time. */
const storeGraceMs = 5_000

/** Receives calls from sources, routes them, and delivers them to destinations. */
export class Service implements AsyncDisposable {
  readonly #store: Store
  readonly #runtime: Runtime
  /** Combines repeated lines, because an outage can repeat a line thousands of times. */
  readonly #log: CoalescingLog
  readonly #pipeline: Pipeline
  readonly #metrics: Metrics
  readonly #faults: DestinationFaults
  readonly #figures: StoreFiguresWatch
  readonly #adding = new AddingBytes()
  readonly #archives: Archives
  readonly #replay: ArchiveReplay
  readonly #audiences: AudienceSyncs
  readonly #regulations: ServiceRegulations
  readonly #readiness: Readiness
  readonly #role: ServiceRole
  readonly #sessions: PageSessions
  readonly #ending = new AbortController()
  readonly #accepting = new Set<Promise<unknown>>()
  /** The configuration as it was last given. The admin API can enable and disable destinations meanwhile. */
  #given: Configuration
  #configuration: Configuration
  #guard: AddressGuard
  #sources: SourceDirectory<ConfiguredSource>
  #admin: RequestListener | undefined
  #listening: readonly Listening[] = []
  #pendingAtEnd: number | null = 0
  #closed: Promise<void> | undefined

  private constructor(store: Store, options: ServiceOptions, tracing: Tracing) {
    const { configuration, failed, role = 'all', runtime: ambient = createRuntime() } = options
    this.#log = new CoalescingLog(ambient.log, ambient.clock)
    const given = { ...ambient, log: this.#log }
    this.#store = store
    this.#role = role
    this.#given = configuration
    this.#configuration = configuration
    this.#archives = new Archives(given.clock.nowMs())
    this.#readiness = new Readiness({
      store,
      role,
      hindrance: () => this.#pipeline.hindrance,
      runtime: given,
    })
    this.#faults = new DestinationFaults(given)
    this.#sessions = new PageSessions({ clock: given.clock })
    this.#figures = new StoreFiguresWatch({
      queues: (nowMs) => queueStates(store, destinationIdsOf(this.#configuration), nowMs),
      tables: store.tableRows,
      isFirst: () => this.#pipeline.isFirst,
      runtime: given,
    })
    this.#metrics = new Metrics({ figures: () => this.#figures.latest, runtime: given })
    this.#runtime = observedRuntime(given, { metrics: this.#metrics, faults: this.#faults })
    this.#guard = new AddressGuard(configuration.network)
    this.#pipeline = new Pipeline({
      destinations: configuration.destinations,
      store,
      delivers: role !== 'ingest',
      runtime: this.#runtime,
      retention: configuration.retention,
      guard: this.#guard,
      connection: (use) => this.#metrics.connection(use),
      trace: tracing.send,
      senderThreads: senderThreads(configuration.senderThreads),
      adding: this.#adding,
      isService: true,
      failed: (error) => {
        this.#readiness.failed()
        failed?.(error)
      },
    })
    this.#sources = new SourceDirectory(configuration.sources)
    const common = {
      configuration: () => this.#configuration,
      add: this.#pipeline.add.bind(this.#pipeline),
      hasRoom: waitForRoom.bind(undefined, { store, adding: this.#adding, clock: given.clock }),
      wake: () => this.#pipeline.wake(),
      runtime: this.#runtime,
      ending: this.#ending.signal,
    }
    this.#replay = new ArchiveReplay({
      ...common,
      isHeld: () => this.#regulations.holdsArchives,
      look: () => this.#regulations.look(),
    })
    this.#audiences = new AudienceSyncs({ ...common, store: store.audiences })
    this.#regulations = new ServiceRegulations({
      ...common,
      store: store.regulations,
      shared: store.sharedRegulations,
      erasesStore: role !== 'ingest',
      keepsArchives: role !== 'deliver',
      archives: this.#archives,
      archived: () => Promise.allSettled(this.#accepting),
      endReplays: () => this.#replay.end(),
    })
  }

  /**
   * Opens the store, the archives and the ports. Throws `store_in_use`, `store_unusable`, `cannot_write_file`,
   * `port_in_use` or `cannot_listen`.
   */
  static async start(options: ServiceOptions): Promise<Service> {
    let service: Service | undefined
    const onNotification = (dueTimes?: readonly DueTime[]): void => {
      if (service !== undefined) service.#pipeline.wake(dueTimes)
    }
    const store = await openServiceStore(options, { onNotification, log: options.runtime?.log })
    try {
      const tracing = tracingOfProcess(options.configuration.tracing)
      service = new Service(store, options, tracing)
      await service.#open(tracing)
      return service
    } catch (error) {
      await (service ?? store).close()
      throw error
    }
  }

  get address(): ServiceAddress {
    const [tracking, admin] = this.#listening
    return { url: tracking?.url ?? '', port: tracking?.port ?? 0, admin: admin?.url ?? null }
  }

  /** Makes a link that opens the page once, within an hour. Returns null without an admin API. */
  signInLink(): string | null {
    const { admin } = this.address
    return admin === null ? null : `${admin}/_evroute/sign-in?token=${this.#sessions.newLink()}`
  }

  get work(): ServiceWork {
    return { requests: this.#pipeline.requests, pending: this.#pendingAtEnd }
  }

  async pending(): Promise<number> {
    return (await this.#store.ledger()).pending
  }

  /** Applies a new configuration without interrupting work in progress, and returns the differences. */
  reconfigure(configuration: Configuration): readonly ConfigurationChange[] {
    const known = { running: this.#configuration, before: this.#given }
    const changes = this.#follow(withSwitches(configuration, known))
    this.#given = configuration
    this.#metrics.reloaded(changes.length === 0 ? 'unchanged' : 'applied')
    return changes
  }

  #follow(configuration: Configuration): readonly ConfigurationChange[] {
    if (this.#closed !== undefined) return []
    const guard = new AddressGuard(configuration.network)
    const changes = changesBetween(this.#configuration, configuration)
    // Keep the guard if its settings stay the same, because a new one would close open connections.
    if (isAbout(changes, /^network\./)) this.#guard = guard
    for (const archive of abandonedArchives(this.#configuration.sources, configuration.sources)) {
      const message = `the archive in ${archive.directory} is no longer configured: deletions of users no longer reach it`
      this.#runtime.log.warn(message, { source: archive.sourceId })
    }
    const removedIds = new Set(destinationIdsOf(this.#configuration))
    this.#configuration = followed(this.#configuration, configuration)
    for (const id of destinationIdsOf(configuration)) removedIds.delete(id)
    if (removedIds.size > 0) void this.#logOrphanedBacklogs(removedIds)
    this.#sources = new SourceDirectory(configuration.sources)
    if (isAbout(changes, /^admin\.token$/)) this.#sessions.endAll()
    this.#admin = this.#newAdmin()
    if (isAbout(changes, /^retention\./)) this.#pipeline.replaceRetention(configuration.retention)
    if (isAbout(changes, /^(destinations|network)\.|^retention\.messageIds$/)) {
      this.#pipeline.replaceDestinations(configuration.destinations, this.#guard)
      this.#watchEndpoints()
    }
    return changes
  }

  /** Counts a new configuration that can't be used. The current one stays in use. */
  refuseConfiguration(): void {
    this.#metrics.reloaded('refused')
  }

  /** Makes `/readyz` answer 503, so that load balancers send clients elsewhere. All other work continues. */
  drain(): void {
    this.#readiness.closing()
  }

  /** Stops accepting requests, waits up to `graceMs` for those in progress, and closes the store within 7 s more. */
  close(graceMs = 0): Promise<void> {
    this.#readiness.closing()
    this.#closed ??= this.#close(graceMs)
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #open({ serve, send }: Tracing): Promise<void> {
    this.#watchEndpoints()
    const { listen: address, admin } = this.#configuration
    if (this.#role !== 'deliver') await this.#archives.open(this.#configuration.sources)
    await this.#regulations.register()
    void this.#figures.start()
    const health = healthHandler(() => this.#readiness.reasons(), this.#runtime.log)
    const tracking = serve(this.#newTracking(send !== undefined))
    const listening = await listenFor(
      'listen',
      (request, response) => health(request, response, () => tracking(request, response)),
      { ...address, log: this.#log },
    )
    this.#listening = [listening]
    if (admin !== undefined) {
      this.#admin = this.#newAdmin()
      const adminListening = await listenFor(
        'admin',
        (request, response) => this.#admin?.(request, response),
        { ...admin, log: this.#log },
      )
      this.#listening = [listening, adminListening]
    }
    void this.#logOrphanedBacklogs()
    // Start only now, because opening the ports could have failed.
    this.#pipeline.start()
    await this.#regulations.start()
  }

  #watchEndpoints(): void {
    const { destinations } = this.#configuration
    this.#metrics.configured(destinations)
    this.#faults.configure(destinations)
  }

  #logOrphanedBacklogs(among?: ReadonlySet<string>): Promise<void> {
    const { destinations } = this.#configuration
    return logOrphanedBacklogs({ store: this.#store, destinations }, this.#log, among)
  }

  #newTracking(keepsTraceparent: boolean): RequestListener {
    if (this.#role === 'deliver') return closedTrackingPort(this.#runtime.clock)
    return trackingApp({
      sourceOf: (writeKey) => this.#sources.find(writeKey),
      accept: (batch) => this.#accept(batch),
      isFull: () => this.#adding.isFull,
      runtime: this.#runtime,
      observer: this.#metrics,
      trustedProxies: this.#configuration.listen.trustedProxies,
      publicUrl: this.#configuration.listen.publicUrl,
      keepsTraceparent,
    })
  }

  #newAdmin(): RequestListener | undefined {
    const { admin } = this.#configuration
    if (admin === undefined) return undefined
    return adminApp({
      access: admin,
      store: this.#store,
      wake: () => this.#pipeline.wake(),
      destinations: () => {
        const { breakers } = this.#metrics
        const knowledge = { store: this.#store, breakers, faults: this.#faults }
        return destinationStates(this.#configuration.destinations, knowledge)
      },
      destinationActions: destinationActions({
        configuration: () => this.#configuration,
        follow: this.#follow.bind(this),
        add: this.#pipeline.add.bind(this.#pipeline),
        runtime: this.#runtime,
      }),
      isDisabledByHand: (id) =>
        this.#given.destinations.some((each) => each.id === id && each.enabled) &&
        this.#configuration.destinations.some((each) => each.id === id && !each.enabled),
      orphanedBacklogs: () => orphanedBacklogs({ ...this.#configuration, store: this.#store }),
      sources: () => sourcesState(this.#configuration, this.address),
      replay: (request, signal) => this.#replay.run(request, signal),
      audiences: this.#audiences,
      regulations: this.#regulations,
      ready: () => this.#readiness.reasons(),
      metrics: this.#metrics,
      sessions: this.#sessions,
      actions: this.#log.each,
      runtime: this.#runtime,
    })
  }

  /** Stores a batch. Only events that will be archived stay in memory until the store has answered. */
  #accept(batch: IntakeBatch): Promise<readonly IntakeOutcome[]> {
    const isArchived = this.#sourceOf(batch)?.archive !== undefined
    return this.#accepted(isArchived ? this.#takeAndKeep(batch) : this.#pipeline.intake.take(batch))
  }

  async #accepted(work: Promise<readonly IntakeOutcome[]>): Promise<readonly IntakeOutcome[]> {
    this.#accepting.add(work)
    try {
      const outcomes = await work
      // Only stored events show that the store works. Rejected and filtered ones never reach it.
      const isStored = outcomes.some(
        (each) => each.kind === 'accepted' && each.outcome !== 'filtered',
      )
      if (isStored) this.#readiness.accepted()
      return outcomes
    } catch (error) {
      this.#readiness.refused()
      throw error
    } finally {
      this.#accepting.delete(work)
    }
  }

  async #takeAndKeep(batch: IntakeBatch): Promise<readonly IntakeOutcome[]> {
    const results = await this.#pipeline.intake.accept(batch)
    // Look the source up again: it may have lost its archive meanwhile. No erasure would reach events added there now.
    await this.#archives.keep(this.#sourceOf(batch), results)
    return results
  }

  #sourceOf({ sourceId }: IntakeBatch): ConfiguredSource | undefined {
    return this.#configuration.sources.find(({ id }) => id === sourceId)
  }

  async #close(graceMs: number): Promise<void> {
    const disconnecting = systemClock.schedule(graceMs + storeGraceMs, () =>
      this.#store.disconnect?.(),
    )
    this.#figures.stop()
    this.#ending.abort(new Error('The service is closing'))
    await Promise.all([
      ...this.#listening.map((listening) => listening.close(graceMs)),
      this.#pipeline.stop(graceMs),
      this.#regulations.close(),
      // Writes to archives get the grace period too, because stored events may not be archived yet.
      this.#archives.close(graceMs),
    ])
    this.#pendingAtEnd = await this.pending().catch(() => null)
    await this.#pipeline.close()
    await Promise.allSettled(this.#accepting)
    this.#archives.release()
    disconnecting.cancel()
    this.#faults.close()
    this.#log.close()
  }
}

function destinationIdsOf({ destinations }: Configuration): readonly string[] {
  return destinations.map(({ id }) => id)
}
