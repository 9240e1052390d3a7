import type { AudienceStore } from '../../src/audience/index.ts'
import type { DeliveryStore } from '../../src/delivery/index.ts'
import type { RegulationStore } from '../../src/privacy/index.ts'
import type { Store } from '../../src/store/index.ts'
import type { MemoryBoundsOptions } from '../../src/store/sqlite/memory-bounds.ts'
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

// Loads SQLite now, so that the stores of tests open without waiting for the event loop.
await (await SqliteStore.openInMemory()).close()

type Method<Name extends keyof DeliveryStore> = DeliveryStore[Name]

/** An in-memory store that can be called before it is open. Calls wait until it is. */
export class MemoryStore implements Store {
  readonly audiences: AudienceStore
  readonly regulations: RegulationStore
  readonly #store: Promise<Store>

  /** @param bounds - as for other in-memory stores, except that `pendingMax` has no limit by default */
  constructor(bounds: MemoryBoundsOptions = {}) {
    this.#store = SqliteStore.openInMemory({ pendingMax: Infinity, ...bounds })
    this.audiences = later(this.#store.then(({ audiences }) => audiences))
    this.regulations = later(this.#store.then(({ regulations }) => regulations))
  }

  async add(...given: Parameters<Method<'add'>>): ReturnType<Method<'add'>> {
    return (await this.#store).add(...given)
  }

  async claim(...given: Parameters<Method<'claim'>>): ReturnType<Method<'claim'>> {
    return (await this.#store).claim(...given)
  }

  async settle(...given: Parameters<Method<'settle'>>): ReturnType<Method<'settle'>> {
    return (await this.#store).settle(...given)
  }

  async nextDue(...given: Parameters<Method<'nextDue'>>): ReturnType<Method<'nextDue'>> {
    return (await this.#store).nextDue(...given)
  }

  async checkWritable(): ReturnType<Method<'checkWritable'>> {
    return (await this.#store).checkWritable()
  }

  async ledger(...given: Parameters<Method<'ledger'>>): ReturnType<Method<'ledger'>> {
    return (await this.#store).ledger(...given)
  }

  async destinationCounts(): ReturnType<Method<'destinationCounts'>> {
    return (await this.#store).destinationCounts()
  }

  async list(...given: Parameters<Method<'list'>>): ReturnType<Method<'list'>> {
    return (await this.#store).list(...given)
  }

  async story(...given: Parameters<Method<'story'>>): ReturnType<Method<'story'>> {
    return (await this.#store).story(...given)
  }

  async retry(...given: Parameters<Method<'retry'>>): ReturnType<Method<'retry'>> {
    return (await this.#store).retry(...given)
  }

  async discard(...given: Parameters<Method<'discard'>>): ReturnType<Method<'discard'>> {
    return (await this.#store).discard(...given)
  }

  async purge(...given: Parameters<Method<'purge'>>): ReturnType<Method<'purge'>> {
    return (await this.#store).purge(...given)
  }

  async countLost(...given: Parameters<Method<'countLost'>>): ReturnType<Method<'countLost'>> {
    return (await this.#store).countLost(...given)
  }

  async audit(): ReturnType<Method<'audit'>> {
    return (await this.#store).audit()
  }

  async close(): Promise<void> {
    await (await this.#store).close()
  }
}

/** Returns an object whose methods wait for the part, then call its methods. */
function later<Part extends object>(opening: Promise<Part>): Part {
  const call =
    (name: string | symbol) =>
    async (...given: readonly unknown[]): Promise<unknown> => {
      const part = (await opening) as Record<
        string | symbol,
        (...given: readonly unknown[]) => unknown
      >
      return part[name]?.(...given)
    }
  return new Proxy({}, { get: (_, name) => call(name) }) as Part
}
