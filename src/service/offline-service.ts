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

/** What an offline service is made of. */
export interface OfflineServiceOptions {
  /** Its sources, destinations and settings. */
  readonly configuration: Configuration
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** The store, where it is another than that of the configuration. */
  readonly storeUrl?: string | undefined
  /** Called with what made the store unusable: nothing is sent any more. */
  readonly failed?: (error: unknown) => void
}

/**
 * A service that listens nowhere, for as long as a command runs: it delivers from the store of the
 * configuration to its destinations, syncs audiences and carries out regulations.
 */
export class OfflineService implements AsyncDisposable {
  /** Audiences and computed traits. */
  readonly audiences: AudienceOperations
  /** Deletion requests. */
  readonly regulations: ServiceRegulations
  readonly #begin: DeliveryLedger
  readonly #pipeline: Pipeline
  readonly #ending = new AbortController()

  private constructor(options: OfflineServiceOptions, store: Store, begin: DeliveryLedger) {
    const { configuration, failed, runtime } = options
    const { destinations, retention, network } = configuration
    this.#begin = begin
    this.#pipeline = new Pipeline({
      destinations,
      store,
      processes: store.processes,
      runtime,
      retention,
      // What several processes share the services among them purge: a copy of the configuration may differ.
      purges: store.processes === undefined,
      guard: new AddressGuard({ allow: network.allow }),
      ...(failed === undefined ? {} : { failed }),
    })
    const common = {
      configuration: () => configuration,
      wake: () => this.#pipeline.wake(),
      runtime,
    }
    this.audiences = new AudienceSyncs({
      ...common,
      store: store.audiences,
      // Whatever a sync makes waits in a file, and nothing else needs room in it.
      isFull: () => Promise.resolve(false),
      ending: this.#ending.signal,
    })
    this.regulations = new ServiceRegulations({
      ...common,
      store: store.regulations,
      shared: store.sharedRegulations,
      keepsArchives: false,
      archives: new Archives(runtime.clock.nowMs()),
      // Nothing is accepted here.
      archived: () => Promise.resolve(),
    })
  }

  /**
   * Opens the store for delivery, and goes on with what is unfinished in it.
   *
   * @throws EvrouteError `store_in_use` or `store_unusable`; SettingError for a URL that names no store
   */
  static async open(options: OfflineServiceOptions): Promise<OfflineService> {
    const store = await openStore(options.storeUrl ?? options.configuration.store, {
      log: options.runtime.log,
    })
    try {
      const service = new OfflineService(options, store, await store.ledger())
      await service.regulations.start()
      return service
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /**
   * Resolves once all that can be done now is done: deliveries made, what regulations want erased
   * erased. What waits for endpoints that are down stays in the store.
   *
   * @throws whatever made the store unusable
   */
  async idle(): Promise<void> {
    await this.regulations.idle()
    await this.#pipeline.idle()
    // Notifications are erased once they are delivered.
    await this.regulations.idle()
  }

  /** The ledger since it was opened. Deliveries that waited then are part of it. */
  async ledger(): Promise<DeliveryLedger> {
    return ledgerSince(this.#begin, await this.#pipeline.ledger())
  }

  /** Begins nothing more, and gives requests under way `graceMs` of real time to end. */
  async stop(graceMs: number): Promise<void> {
    this.#ending.abort(new Error('The command is ending'))
    await Promise.all([this.#pipeline.stop(graceMs), this.regulations.close()])
  }

  /** Lets go of everything; what is not done stays in the store. */
  async close(): Promise<void> {
    await this.stop(0)
    await this.#pipeline.close()
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
