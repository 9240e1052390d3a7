import { signal } from '@preact/signals'
import type {
  AudienceMembersRecord,
  AudiencesRecord,
  DeliveriesRecord,
  DestinationFields,
  DestinationsRecord,
  OverviewRecord,
  RegulationsRecord,
  SourcesRecord,
} from '../../admin-api/index.ts'
import type { AudienceFields, SyncCounts } from '../../audience/index.ts'
import type { AuditRecord, StoryRecord } from '../../delivery/index.ts'
import type { DeliveryLedger, RegulationType } from '../../model/index.ts'

/** Which deliveries are meant, as the admin API names it; a condition that is empty is none. */
export type Conditions = Readonly<
  Partial<
    Record<'id' | 'state' | 'type' | 'user' | 'destination' | 'message' | 'since' | 'until', string>
  >
>

/** What is done to deliveries. */
export type DeliveryAction = 'retry' | 'discard'

/** Deliveries on a page of the list. */
const pageRows = 50
/** Deliveries of a page while they are counted. */
const countedRows = 500
/** Counting before an action stops at this many deliveries. The page then says "at least". */
export const countedMax = 5_000

/** States that an action takes. */
const statesOf: Readonly<Record<DeliveryAction, readonly string[]>> = {
  retry: ['failed', 'expired'],
  discard: ['pending'],
}

/** Asks a service with the cookie of the session. */
export class ServiceApi {
  /** Whether somebody is signed in, as far as the service said. */
  readonly isSignedIn = signal(true)

  /** How the service stands. */
  overview(): Promise<OverviewRecord> {
    return this.#ask('v1/overview')
  }

  /** How the destinations stand. */
  async destinations(): Promise<readonly DestinationFields[]> {
    return (await this.#ask<DestinationsRecord>('v1/destinations')).destinations
  }

  /** Turns a destination on or off. */
  setEnabled(id: string, enabled: boolean): Promise<unknown> {
    const action = enabled ? 'enable' : 'disable'
    return this.#post(`v1/destinations/${encodeURIComponent(id)}/${action}`, {})
  }

  /** Sends a sample to a destination. Returns its messageId. */
  async sendTest(id: string): Promise<string> {
    const path = `v1/destinations/${encodeURIComponent(id)}/test`
    return (await this.#post<{ messageId: string }>(path, {})).messageId
  }

  /** What the sources sent. */
  sources(): Promise<SourcesRecord> {
    return this.#ask('v1/sources')
  }

  /** The audiences and computed traits. */
  async audiences(): Promise<readonly AudienceFields[]> {
    return (await this.#ask<AudiencesRecord>('v1/audiences')).audiences
  }

  /** A page of the members of an audience. */
  members(key: string, after: string | undefined): Promise<AudienceMembersRecord> {
    const query = new URLSearchParams({ limit: String(pageRows) })
    if (after !== undefined) query.set('after', after)
    return this.#ask(`v1/audiences/${encodeURIComponent(key)}?${query}`)
  }

  /** Lets the members of an audience leave, and forgets it; with a dry run it only counts them. */
  removeAudience(
    key: string,
    mode?: 'dry run',
  ): Promise<{ readonly audience: AudienceFields; readonly left: number }> {
    const query = mode === undefined ? '' : '?dryRun=true'
    return this.#stream(`v1/audiences/${encodeURIComponent(key)}/remove${query}`, '{}')
  }

  /** Gives an audience the members of a list; with a dry run it only counts what would change. */
  syncAudience(
    { name, source }: { readonly name: string; readonly source: string },
    list: File,
    mode?: 'dry run',
  ): Promise<SyncCounts> {
    const query = new URLSearchParams({ name })
    if (source !== '') query.set('source', source)
    if (mode !== undefined) query.set('dryRun', 'true')
    return this.#stream(`v1/audiences/sync?${query}`, list)
  }

  /** A page of deletion requests, newest first. */
  regulations(before: string | undefined): Promise<RegulationsRecord> {
    const query = new URLSearchParams({ limit: String(pageRows) })
    if (before !== undefined) query.set('before', before)
    return this.#ask(`v1/regulations?${query}`)
  }

  /** Asks for the deletion of users. */
  createRegulation(
    regulationType: RegulationType,
    subjectIds: readonly string[],
  ): Promise<{ readonly id: string }> {
    return this.#post('v1/regulations', { regulationType, subjectIds })
  }

  /** Sends archived events again: all of them where there is no condition. */
  replay(
    conditions: Readonly<Record<string, string>>,
  ): Promise<{ readonly events: number; readonly deliveries: number }> {
    const isAll = Object.keys(conditions).length === 0
    return this.#post('v1/replay', isAll ? { all: true } : conditions)
  }

  /** Where every event and delivery is. */
  ledger(): Promise<DeliveryLedger> {
    return this.#ask('v1/ledger')
  }

  /** Compares the ledger with the deliveries of the store, which are counted one by one. */
  audit(): Promise<AuditRecord> {
    return this.#ask('v1/audit')
  }

  /** A page of deliveries, newest first. */
  deliveries(conditions: Conditions, before?: number): Promise<DeliveriesRecord> {
    const query = queryOf(conditions)
    query.set('limit', String(pageRows))
    if (before !== undefined) query.set('before', String(before))
    return this.#ask(`v1/deliveries?${query}`)
  }

  /** What happened to a delivery. */
  story(id: string): Promise<StoryRecord> {
    return this.#ask(`v1/deliveries/${id.split('/').map(encodeURIComponent).join('/')}`)
  }

  /** Counts the deliveries that an action would take, at most 5,000. */
  async count(action: DeliveryAction, conditions: Conditions): Promise<number> {
    const query = queryOf(conditions)
    query.set('limit', String(countedRows))
    if (!query.has('state')) for (const state of statesOf[action]) query.append('state', state)
    for (let count = 0; ;) {
      const { deliveries, next } = await this.#ask<DeliveriesRecord>(`v1/deliveries?${query}`)
      count += deliveries.length
      if (next === null || count >= countedMax) return count
      query.set('before', String(next))
    }
  }

  /** Retries or discards deliveries. Returns how many. */
  async act(action: DeliveryAction, conditions: Conditions): Promise<number> {
    const given = Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== ''))
    // An id names one delivery, and goes together with nothing else.
    const body = 'id' in given ? given : { state: statesOf[action], ...given }
    const { deliveries } = await this.#post<{ deliveries: number }>(`v1/deliveries/${action}`, body)
    return deliveries
  }

  /** Signs in with the admin token. */
  async signIn(token: string): Promise<void> {
    await this.#post('sign-in', { token })
    this.isSignedIn.value = true
  }

  /** Ends the session. */
  async signOut(): Promise<void> {
    await this.#post('sign-out', {})
    this.isSignedIn.value = false
  }

  #post<Answer>(path: string, body: object): Promise<Answer> {
    return this.#ask(path, post(JSON.stringify(body)))
  }

  /** Sends a body, and gives the last record of the answer: the outcome. */
  async #stream<Answer>(path: string, body: BodyInit): Promise<Answer> {
    const lines = (await this.#textOf(path, post(body))).trimEnd().split('\n')
    return answerOf(lines.at(-1) ?? '') as Answer
  }

  async #ask<Answer>(path: string, init?: RequestInit): Promise<Answer> {
    return answerOf(await this.#textOf(path, init)) as Answer
  }

  /** @throws Error with the message of a refusal */
  async #textOf(path: string, init?: RequestInit): Promise<string> {
    const answer = await fetch(path, init)
    const text = await answer.text()
    if (answer.ok) return text
    if (answer.status === 401) this.isSignedIn.value = false
    answerOf(text)
    throw new Error(`The service answered ${answer.status}`)
  }
}

/** The media type is one that no form can send, whatever the body is. */
function post(body: BodyInit): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

/** @throws Error with the message of a refusal */
function answerOf(text: string): unknown {
  const body = (text === '' ? {} : JSON.parse(text)) as {
    readonly error?: { readonly message?: string }
  }
  if (body.error?.message !== undefined) throw new Error(body.error.message)
  return body
}

function queryOf(conditions: Conditions): URLSearchParams {
  return new URLSearchParams(Object.entries(conditions).filter(([, value]) => value !== ''))
}
