import { signal } from '@preact/signals'
import type {
  DeliveriesRecord,
  DestinationFields,
  DestinationsRecord,
  OverviewRecord,
} from '../../admin-api/index.ts'
import type { StoryRecord } from '../../delivery/index.ts'

/** Which deliveries are meant, as the admin API names it; a condition that is empty is none. */
export type Conditions = Readonly<
  Partial<Record<'id' | 'state' | 'type' | 'user' | 'destination' | 'message' | 'since', string>>
>

/** What is done to deliveries. */
export type DeliveryAction = 'retry' | 'discard'

/** Deliveries on a page of the list. */
const pageRows = 50
/** Deliveries that are counted before something is done to them; of more it is said that there are more. */
export const countedMax = 500

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

  /** How many deliveries an action would take, at most 500. */
  async count(action: DeliveryAction, conditions: Conditions): Promise<number> {
    const query = queryOf(conditions)
    query.set('limit', String(countedMax))
    if (!query.has('state')) for (const state of statesOf[action]) query.append('state', state)
    const { deliveries } = await this.#ask<DeliveriesRecord>(`v1/deliveries?${query}`)
    return deliveries.length
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
    const headers = { 'content-type': 'application/json' }
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
  }

  /** @throws Error with the message of a refusal */
  async #ask<Answer>(path: string, init?: RequestInit): Promise<Answer> {
    const answer = await fetch(path, init)
    const text = await answer.text()
    const body = (text === '' ? {} : JSON.parse(text)) as Answer & {
      readonly error?: { readonly message?: string }
    }
    if (answer.ok) return body
    if (answer.status === 401) this.isSignedIn.value = false
    throw new Error(body.error?.message ?? `The service answered ${answer.status}`)
  }
}

function queryOf(conditions: Conditions): URLSearchParams {
  return new URLSearchParams(Object.entries(conditions).filter(([, value]) => value !== ''))
}
