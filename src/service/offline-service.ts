import type { AudienceOperations } from '../admin-api/index.ts'
import { AddressGuard } from '../http/index.ts'
import { ledgerSince, type DeliveryLedger } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { openStore, type Store } from '../store/index.ts'
import { Archives } from './archives.ts'
import { AudienceSyncs } from './audience-syncs.ts'
import type { Configuration } from './configuration/index.ts'
import { Pipeline } from '../pipeline/index.ts'
import { ServiceRegulations } from './service-regulations.ts'

interface OfflineServiceOptions {
  readonly configuration: Configuration
  readonly runtime: Runtime
  /** The URL of a store to use instead of the configured one. */
  readonly storeUrl?: string | undefined
}

/** Delivers from a store, syncs audiences and carries out regulations for one command, without ports. */
export class OfflineService {
  readonly audiences: AudienceOperations
  readonly regulations: ServiceRegulations
  readonly #begin: DeliveryLedger
  readonly #pipeline: Pipeline
  readonly #archives: Archives
  readonly #ending = new AbortController()

  private constructor(options: OfflineServiceOptions, store: Store, begin: DeliveryLedger) {
    const { configuration, runtime } = options
    const { destinations, retention, network } = configuration
    this.#begin = begin
    this.#pipeline = new Pipeline({
      destinations,
      store,
      runtime,
      retention,
      guard: new AddressGuard({ allow: network.allow }),
    })
    const common = {
      configuration: () => configuration,
      wake: () => this.#pipeline.wake(),
      runtime,
    }
    this.audiences = new AudienceSyncs({
      ...common,
      store: store.audiences,
      // No source is sending, so a sync may fill the whole backlog.
      hasRoom: (_, signal) => Promise.resolve(!signal.aborted),
      ending: this.#ending.signal,
    })
    this.#archives = new Archives(runtime.clock.nowMs())
    this.regulations = new ServiceRegulations({
      ...common,
      store: store.regulations,
      keepsArchives: store.sharedRegulations === undefined,
      archives: this.#archives,
      archived: () => Promise.resolve(),
    })
  }

  /** Opens the store and resumes its unfinished work. Throws `store_in_use`, `store_unusable` or a SettingError. */
  static async open(options: OfflineServiceOptions): Promise<OfflineService> {
    const store = await openStore(options.storeUrl ?? options.configuration.store, {
      log: options.runtime.log,
    })
    try {
      const service = new OfflineService(options, store, await store.ledger())
      service.#pipeline.start()
      await service.regulations.start()
      return service
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** Resolves once no delivery or regulation can make progress now. Throws the error that made the store unusable. */
  async idle(): Promise<void> {
    await this.regulations.idle()
    await this.#pipeline.idle()
    // Wait again: a regulation erases its own notifications, but only after their delivery.
    await this.regulations.idle()
  }

  /** Returns the ledger since the start, including deliveries that were pending then. */
  async ledger(): Promise<DeliveryLedger> {
    return ledgerSince(this.#begin, await this.#pipeline.ledger())
  }

  /** Starts no more work, and waits up to `graceMs` of real time for requests in flight. */
  async stop(graceMs: number): Promise<void> {
    this.#ending.abort(new Error('The command is ending'))
    await Promise.all([this.#pipeline.stop(graceMs), this.regulations.close()])
  }

  /** Stops, and closes the store. Unfinished work stays in the store. */
  async close(): Promise<void> {
    await this.stop(0)
    await this.#pipeline.close()
    this.#archives.release()
  }
}
