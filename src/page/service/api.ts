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

/** Conditions on deliveries, by their names in the admin API. Empty ones are ignored. */
export type Conditions = Readonly<
  Partial<
    Record<'id' | 'state' | 'type' | 'user' | 'destination' | 'message' | 'since' | 'until', string>
  >
>

export type DeliveryAction = 'retry' | 'discard'

/** The number of rows on a page of a list. */
const pageRows = 50
/** The number of deliveries that `count` reads with one request. */
const countedRows = 500
/** Maximum deliveries to count. For more, the page says "at least". */
export const countedMax = 5_000

/** The states to which an action applies by default. */
const statesOf: Readonly<Record<DeliveryAction, readonly string[]>> = {
  retry: ['failed', 'expired'],
  discard: ['pending'],
}

/** A client of the admin API. The browser adds the cookie of the session. */
export class ServiceApi {
  /** False if the service has rejected a request as unauthorized. */
  readonly isSignedIn = signal(true)

  overview(): Promise<OverviewRecord> {
    return this.#ask('v1/overview')
  }

  async destinations(): Promise<readonly DestinationFields[]> {
    return (await this.#ask<DestinationsRecord>('v1/destinations')).destinations
  }

  setEnabled(id: string, enabled: boolean): Promise<unknown> {
    const action = enabled ? 'enable' : 'disable'
    return this.#post(`v1/destinations/${encodeURIComponent(id)}/${action}`, {})
  }

  /** Sends a sample event to a destination. Returns the messageId. */
  async sendTest(id: string): Promise<string> {
    const path = `v1/destinations/${encodeURIComponent(id)}/test`
    return (await this.#post<{ messageId: string }>(path, {})).messageId
  }

  sources(): Promise<SourcesRecord> {
    return this.#ask('v1/sources')
  }

  async audiences(): Promise<readonly AudienceFields[]> {
    return (await this.#ask<AudiencesRecord>('v1/audiences')).audiences
  }

  members(key: string, after: string | undefined): Promise<AudienceMembersRecord> {
    const query = new URLSearchParams({ limit: String(pageRows) })
    if (after !== undefined) query.set('after', after)
    return this.#ask(`v1/audiences/${encodeURIComponent(key)}?${query}`)
  }

  /** Removes an audience, which all members leave. A dry run only counts them. */
  removeAudience(
    key: string,
    mode?: 'dry run',
  ): Promise<{ readonly audience: AudienceFields; readonly left: number }> {
    const query = mode === undefined ? '' : '?dryRun=true'
    return this.#stream(`v1/audiences/${encodeURIComponent(key)}/remove${query}`, '{}')
  }

  /** Makes the users in a list the members of an audience. A dry run only counts the changes. */
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

  /** Reads a page of deletion requests, newest first. */
  regulations(before: string | undefined): Promise<RegulationsRecord> {
    const query = new URLSearchParams({ limit: String(pageRows) })
    if (before !== undefined) query.set('before', before)
    return this.#ask(`v1/regulations?${query}`)
  }

  createRegulation(
    regulationType: RegulationType,
    subjectIds: readonly string[],
  ): Promise<{ readonly id: string }> {
    return this.#post('v1/regulations', { regulationType, subjectIds })
  }

  /** Sends archived events again. Without a condition, sends all of them. */
  replay(
    conditions: Readonly<Record<string, string>>,
  ): Promise<{ readonly events: number; readonly deliveries: number }> {
    const isAll = Object.keys(conditions).length === 0
    return this.#post('v1/replay', isAll ? { all: true } : conditions)
  }

  ledger(): Promise<DeliveryLedger> {
    return this.#ask('v1/ledger')
  }

  /** Compares the ledger with the store, whose deliveries the service counts one by one. */
  audit(): Promise<AuditRecord> {
    return this.#ask('v1/audit')
  }

  /** Reads a page of deliveries, newest first. */
  deliveries(conditions: Conditions, before?: number): Promise<DeliveriesRecord> {
    const query = queryOf(conditions)
    query.set('limit', String(pageRows))
    if (before !== undefined) query.set('before', String(before))
    return this.#ask(`v1/deliveries?${query}`)
  }

  /** Reads a delivery and its requests. */
  story(id: string): Promise<StoryRecord> {
    return this.#ask(`v1/deliveries/${id.split('/').map(encodeURIComponent).join('/')}`)
  }

  /** Counts the deliveries that an action would change, up to `countedMax`. */
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

  /** Retries or discards deliveries. Returns their number. */
  async act(action: DeliveryAction, conditions: Conditions): Promise<number> {
    const given = Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== ''))
    // The API accepts no other condition together with an id.
    const body = 'id' in given ? given : { state: statesOf[action], ...given }
    const { deliveries } = await this.#post<{ deliveries: number }>(`v1/deliveries/${action}`, body)
    return deliveries
  }

  async signIn(token: string): Promise<void> {
    await this.#post('sign-in', { token })
    this.isSignedIn.value = true
  }

  async signOut(): Promise<void> {
    await this.#post('sign-out', {})
    this.isSignedIn.value = false
  }

  #post<Answer>(path: string, body: object): Promise<Answer> {
    return this.#ask(path, post(JSON.stringify(body)))
  }

  /** Posts a body. Returns the last record of the answer, which is the outcome. */
  async #stream<Answer>(path: string, body: BodyInit): Promise<Answer> {
    const lines = (await this.#textOf(path, post(body))).trimEnd().split('\n')
    return answerOf(lines.at(-1) ?? '') as Answer
  }

  async #ask<Answer>(path: string, init?: RequestInit): Promise<Answer> {
    return answerOf(await this.#textOf(path, init)) as Answer
  }

  /** @throws Error with the message of an error answer */
  async #textOf(path: string, init?: RequestInit): Promise<string> {
    const answer = await fetch(path, init)
    const text = await answer.text()
    if (answer.ok) return text
    if (answer.status === 401) this.isSignedIn.value = false
    answerOf(text)
    throw new Error(`The service answered ${answer.status}`)
  }
}

/** Declares every body as JSON, because forms on other sites cannot send this media type. */
function post(body: BodyInit): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

/** @throws Error with the message of an error answer */
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
