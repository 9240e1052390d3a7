import type {
  Audience,
  AudienceStore,
  BeginSyncRequest,
  BeginSyncResult,
  Member,
  MembersRequest,
  ReleaseRequest,
  ReleaseResult,
  TakeRequest,
  TakeResult,
} from '../../audience/index.ts'
import { AudienceRows } from './audience-rows.ts'
import type { Database } from './database.ts'
import type { DeliveryQueue } from './delivery-queue.ts'
import type { Work } from './work.ts'

/** Keeps audiences in the file of the deliveries that their calls become. */
export class SqliteAudiences implements AudienceStore {
  readonly #work: Work
  readonly #queue: DeliveryQueue
  readonly #rows: AudienceRows

  constructor(parts: { database: Database; work: Work; queue: DeliveryQueue }) {
    this.#work = parts.work
    this.#queue = parts.queue
    this.#rows = new AudienceRows(parts.database)
  }

  begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    return this.#work.write(() => notBuilt(request))
  }

  take(request: TakeRequest): Promise<TakeResult> {
    return this.#work.write(() => notBuilt(request, this.#queue))
  }

  release(request: ReleaseRequest): Promise<ReleaseResult> {
    return this.#work.write(() => notBuilt(request))
  }

  remove(request: { readonly key: string }): Promise<boolean> {
    return this.#work.write(() => notBuilt(request))
  }

  list(): Promise<readonly Audience[]> {
    return this.#work.read(() => this.#rows.list())
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    return this.#work.read(() => this.#rows.members(request))
  }
}

function notBuilt(...what: readonly unknown[]): never {
  throw new Error(`not built ${what.length}`)
}
