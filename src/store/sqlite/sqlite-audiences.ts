import type {
  Audience,
  AudienceStore,
  BeginSyncRequest,
  BeginSyncResult,
  Member,
  MembersRequest,
  ReleaseRequest,
  ReleaseResult,
  SyncRequest,
  TakeRequest,
  TakeResult,
} from '../../audience/index.ts'
import type { AudienceChanges } from './audience-changes.ts'
import type { AudienceRows } from './audience-rows.ts'
import { Syncs, type Sync } from '../audience-syncs.ts'
import type { Work } from './work.ts'

const superseded = Object.freeze({ kind: 'superseded' as const })

/**
 * Keeps audiences in the file of the deliveries that their calls become. Which syncs go on is only
 * known here: whatever they have changed is in the file, and the next one begins anew.
 */
export class SqliteAudiences implements AudienceStore {
  readonly #work: Work
  readonly #rows: AudienceRows
  readonly #changes: AudienceChanges
  readonly #syncs = new Syncs()

  constructor(parts: { work: Work; rows: AudienceRows; changes: AudienceChanges }) {
    this.#work = parts.work
    this.#rows = parts.rows
    this.#changes = parts.changes
  }

  async begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    const found = await this.#work.write(() => this.#changes.begin(request))
    const { kind, id, audience } = found
    if (kind === 'taken') return { kind, audience }
    // Not before the commit: a sync that could not begin supersedes none.
    const { number: sync } = this.#syncs.begin({ key: audience.key, id })
    return { kind, audience, sync }
  }

  take(request: TakeRequest): Promise<TakeResult> {
    return this.#inSync<TakeResult>(request, async (sync) => {
      const part = await this.#change(sync, () => this.#changes.take(request, sync))
      if (part === undefined) return superseded
      for (const number of part.listed) sync.listed.add(number)
      return { kind: 'taken', outcomes: part.outcomes }
    })
  }

  release(request: ReleaseRequest): Promise<ReleaseResult> {
    return this.#inSync<ReleaseResult>(request, async (sync) => {
      const part = await this.#change(sync, () => this.#changes.release(request, sync))
      if (part === undefined) return superseded
      if (part.next === null) this.#syncs.end(sync)
      return { kind: 'released', ...part }
    })
  }

  async remove({ key }: { readonly key: string }): Promise<boolean> {
    const isRemoved = await this.#work.write(() => this.#changes.remove(key))
    if (isRemoved) this.#syncs.endOf(key)
    return isRemoved
  }

  list(): Promise<readonly Audience[]> {
    return this.#work.read(() => this.#rows.list())
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    return this.#work.read(() => this.#rows.members(request))
  }

  #inSync<Result>(
    request: SyncRequest,
    step: (sync: Sync) => Promise<Result>,
  ): Promise<Result | typeof superseded> {
    const sync = this.#syncs.find(request)
    if (sync === undefined) return this.#work.read(() => superseded)
    return sync.inTurn(() => step(sync))
  }

  /** Undefined where the sync is over by the time that it is its turn. */
  #change<Result>(sync: Sync, task: () => Result): Promise<Result | undefined> {
    return this.#work.write(() => (this.#syncs.has(sync) ? task() : undefined))
  }
}
