import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NewEvent } from '../delivery/index.ts'
import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Audience, Member, MemberIdentity, MembershipChange } from './audience.ts'
import { membershipEvent } from './membership-call.ts'
import type {
  AudienceReader,
  AudienceStore,
  PlannedStep,
  ReleaseResult,
  StepPlan,
  SyncRequest,
  TakeOutcome,
  TakeResult,
} from './store-port.ts'
import type { SyncListener } from './sync-listener.ts'

/** Maximum number of members per transaction or page. */
export const partMembersMax = 1_000

/** Options that syncs and removals share. */
export interface SyncContext {
  readonly store: AudienceStore
  readonly destinations: readonly Destination[]
  readonly listener: SyncListener
  readonly dedupeWindowMs: number
  /** Called before each part. Resolves to true once the backlog has room, or to false to end the sync. */
  readonly hasRoom: () => Promise<boolean>
  readonly runtime: Runtime
  /** Ends the sync early. Changes so far stay, and the next sync makes the rest. */
  readonly signal: AbortSignal
}

/** A sync in progress: takes a list in parts, then removes the members that weren't in it. */
export class BegunSync {
  readonly #context: SyncContext
  readonly #audience: Audience
  readonly #sync: number

  constructor(context: SyncContext, begun: { readonly audience: Audience; readonly sync: number }) {
    this.#context = context
    this.#audience = begun.audience
    this.#sync = begun.sync
  }

  /** Stores part of the list, once the backlog has room. */
  async take(members: readonly Member[]): Promise<TakeResult | { readonly kind: 'ended' }> {
    if (!(await mayGoOn(this.#context))) return { kind: 'ended' }
    const { store, listener } = this.#context
    const result = await this.#make((request) => store.take({ ...request, members }))
    if (result.kind === 'superseded') return result
    const changes = members.filter((_, index) => isChange(result.outcomes[index]))
    if (changes.length > 0) listener.changed(changes)
    return result
  }

  /** Removes the members that weren't in the list, in parts. Calls `released` after each part. */
  async releaseAll(
    released: (leftSoFar: number) => void,
  ): Promise<'complete' | 'ended' | 'superseded'> {
    const { store, listener } = this.#context
    let after: MemberIdentity | null = null
    let leftSoFar = 0
    for (;;) {
      if (!(await mayGoOn(this.#context))) return 'ended'
      const result = await this.#make((request) =>
        store.release({ ...request, rowsMax: partMembersMax, after }),
      )
      if (result.kind === 'superseded') return 'superseded'
      const { left, next } = result
      if (left.length > 0) listener.changed(left.map((identity) => ({ identity, value: null })))
      leftSoFar += left.length
      released(leftSoFar)
      if (next === null) return 'complete'
      after = next
    }
  }

  #make<Result extends TakeResult | ReleaseResult>(
    step: (request: SyncRequest) => Promise<Result | PlannedStep>,
  ): Promise<Result> {
    const { destinations, dedupeWindowMs, runtime } = this.#context
    const audience = this.#audience
    const nowMs = runtime.clock.nowMs()
    const partId = runtime.newId()
    let calls = 0
    // A common prefix makes ids adjacent in the index, so that storing a part is twice as fast.
    const newId = (): string => `${partId}-${calls++}`
    const options = { audience, destinations, nowMs, newId }
    const seenSinceMs = nowMs - dedupeWindowMs
    return makeStep(
      (plan) => step({ key: audience.key, sync: this.#sync, nowMs, seenSinceMs, plan }),
      (changes) => changes.map((change) => membershipEvent(change, options)),
    )
  }
}

/**
 * Makes a step of a sync. The first call of `step` returns the changes to make. The second call stores the changes with
 * their events. If a user was suppressed or erased in between, the second call returns different changes, and a further
 * call stores these.
 *
 * @param eventsOf - makes one routed call for each change, in order
 */
export async function makeStep<Result extends TakeResult | ReleaseResult>(
  step: (plan: StepPlan) => Promise<Result | PlannedStep>,
  eventsOf: (changes: readonly MembershipChange[]) => readonly NewEvent[],
): Promise<Result> {
  let plan: StepPlan = { changes: [], events: [] }
  for (;;) {
    const result = await step(plan)
    if (result.kind !== 'planned') return result
    plan = { changes: result.changes, events: eventsOf(result.changes) }
  }
}

/** Lets other work run, waits for room in the backlog, and returns whether to continue with the next part. */
export async function mayGoOn({
  hasRoom,
  signal,
}: Pick<SyncContext, 'hasRoom' | 'signal'>): Promise<boolean> {
  await nextTurn()
  return !signal.aborted && (await hasRoom())
}

function isChange(outcome: TakeOutcome | undefined): boolean {
  return outcome === 'entered' || outcome === 'changed'
}

/** Returns the audience as it is stored now, or `known` if it has been removed. */
export async function audienceNow(
  store: Pick<AudienceStore, 'list'>,
  known: Audience,
): Promise<Audience> {
  return (await store.list()).find(({ key }) => key === known.key) ?? known
}

/** Yields every member of an audience, page by page. */
export async function* memberPages(
  store: AudienceReader,
  key: string,
): AsyncGenerator<readonly Member[]> {
  let page: readonly Member[] = []
  do {
    const after = page.at(-1)?.identity ?? null
    page = await store.members({ key, limit: partMembersMax, after })
    if (page.length > 0) yield page
  } while (page.length === partMembersMax)
}
