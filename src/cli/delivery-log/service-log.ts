import {
  formatDeliveryId,
  type DeliveryFilter,
  type DeliveryKey,
  type DeliveryStory,
  type DiscardRequest,
  type ListRequest,
  type LoggedDelivery,
  type RetryRequest,
  type StoreAudit,
} from '../../delivery/index.ts'
import { formatTimestamp } from '../../model/index.ts'
import { refusalIn, ServiceApi } from '../operations/service-api.ts'
import type { ServicePlace } from '../operations/service-place.ts'
import type { AskedLog, LogAccess } from './open-log.ts'
import {
  readAudit,
  readDestinations,
  readDiscarded,
  readPage,
  readRetried,
  readStory,
} from './read-records.ts'
import type { DestinationStanding } from './waits.ts'

/** The earliest time sent to the API: a duration ago can reach further back than dates can be written. */
const earliestMs = Date.UTC(1970, 0, 1)

/** The delivery log of a running service, read through its admin API. */
export class ServiceLog implements AskedLog {
  readonly #api: ServiceApi
  readonly #reveal: boolean

  constructor(place: ServicePlace, { reveal, stop }: Omit<LogAccess, 'write'>) {
    this.#api = new ServiceApi(place, stop)
    this.#reveal = reveal
  }

  async list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    const { filter, limit, beforeId } = request
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', String(beforeId))
    for (const [name, value] of Object.entries(conditionsOf(filter))) {
      for (const each of [value].flat()) if (each !== undefined) query.append(name, each)
    }
    const path = this.#revealing(`v1/deliveries?${query.toString()}`)
    const { deliveries } = await this.#api.read({ path }, readPage)
    return deliveries
  }

  async story({ destinationId, id }: DeliveryKey): Promise<DeliveryStory | undefined> {
    const path = this.#revealing(`v1/deliveries/${encodeURIComponent(destinationId)}/${id}`)
    const reply = await this.#api.ask({ path })
    // A delivery may have been purged since it was listed. That is not an error.
    const isGone = refusalIn(reply)?.code === 'not_found'
    return isGone ? undefined : this.#api.understand(reply, readStory)
  }

  retry(request: RetryRequest): Promise<number> {
    return this.#api.read({ path: 'v1/deliveries/retry', body: selectionOf(request) }, readRetried)
  }

  discard(request: DiscardRequest): Promise<number> {
    const question = { path: 'v1/deliveries/discard', body: selectionOf(request) }
    return this.#api.read(question, readDiscarded)
  }

  audit(): Promise<StoreAudit> {
    return this.#api.read({ path: 'v1/audit' }, readAudit)
  }

  destinations(): Promise<readonly DestinationStanding[]> {
    return this.#api.read({ path: this.#revealing('v1/destinations') }, readDestinations)
  }

  #revealing(path: string): string {
    return this.#reveal ? `${path}${path.includes('?') ? '&' : '?'}reveal=true` : path
  }
}

/** The body of a retry or discard request: conditions, or all deliveries. */
function selectionOf({ filter, limit }: RetryRequest): object {
  const conditions = conditionsOf(filter)
  const isAll = Object.values(conditions).every((condition) => condition === undefined)
  return { ...conditions, ...(isAll ? { all: true } : {}), limit }
}

/** A filter, with the parameter names of the API. */
function conditionsOf(
  filter: DeliveryFilter,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const { destinationId, id, sinceMs, untilMs } = filter
  const isOne = destinationId !== undefined && id !== undefined
  return {
    id: isOne ? formatDeliveryId({ destinationId, id }) : undefined,
    destination: isOne ? undefined : destinationId,
    state: filter.states,
    type: filter.types,
    user: filter.userId,
    message: filter.messageId,
    since: sinceMs === undefined ? undefined : formatTimestamp(Math.max(sinceMs, earliestMs)),
    until: untilMs === undefined ? undefined : formatTimestamp(Math.max(untilMs, earliestMs)),
  }
}
