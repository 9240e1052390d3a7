import type { DeliveriesRecord, DestinationsRecord } from '../../admin-api/index.ts'
import {
  formatDeliveryId,
  type DeliveryFields,
  type DeliveryFilter,
  type DeliveryKey,
  type DeliveryStory,
  type DiscardRequest,
  type ListRequest,
  type LoggedDelivery,
  type RequestFields,
  type RetryRequest,
  type StoreAudit,
  type StoryRecord,
} from '../../delivery/index.ts'
import { formatTimestamp } from '../../model/index.ts'
import type { DestinationStatus } from '../deliveries/status.ts'
import type { Deliveries } from './readers.ts'
import type { ServiceApi } from './service-api.ts'

/** The deliveries of a running service. */
export class RemoteDeliveries implements Deliveries {
  readonly #api: ServiceApi
  readonly #reveal: boolean

  /** @param reveal - whether full endpoint URLs are shown */
  constructor(api: ServiceApi, reveal: boolean) {
    this.#api = api
    this.#reveal = reveal
  }

  async list({ filter, limit, beforeId }: ListRequest): Promise<readonly LoggedDelivery[]> {
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', String(beforeId))
    for (const [name, value] of Object.entries(conditionsOf(filter))) {
      for (const each of [value].flat()) if (each !== undefined) query.append(name, each)
    }
    const path = this.#revealing(`v1/deliveries?${query.toString()}`)
    const page = await this.#api.read<DeliveriesRecord>({ path }, 'deliveries')
    return page.deliveries.map(deliveryOf)
  }

  async story({ destinationId, id }: DeliveryKey): Promise<DeliveryStory | undefined> {
    const path = this.#revealing(`v1/deliveries/${encodeURIComponent(destinationId)}/${id}`)
    // A delivery may have been purged since it was listed. That is not an error.
    const story = await this.#api.find<StoryRecord>(path, 'story')
    if (story === undefined) return undefined
    const delivery = deliveryOf(story.delivery)
    const requestOf = ({ ms, at, ...same }: RequestFields): DeliveryStory['requests'][number] => {
      const { messageId } = delivery
      return {
        ...{ ...same, destinationId, deliveryId: id, messageId },
        ...{ durationMs: ms, atMs: moment(at) },
      }
    }
    return { ...delivery, requests: story.requests.map(requestOf), body: story.body }
  }

  retry(request: RetryRequest): Promise<number> {
    return this.#change('retry', request)
  }

  discard(request: DiscardRequest): Promise<number> {
    return this.#change('discard', request)
  }

  async audit(): Promise<StoreAudit> {
    const { ledger, counted, purged, withoutBody } = await this.#api.read<StoreAudit>(
      { path: 'v1/audit' },
      'audit',
    )
    return { ledger, counted, purged, withoutBody }
  }

  async destinations(): Promise<readonly DestinationStatus[]> {
    const path = this.#revealing('v1/destinations')
    const { destinations } = await this.#api.read<DestinationsRecord>({ path }, 'destinations')
    return destinations.map(({ id, enabled, endpoints }) => ({
      id,
      enabled,
      endpoints: endpoints.map(({ url, probeAt, faults }) => ({
        url,
        probeAtMs: momentOrNull(probeAt),
        faults: faults.map(({ since, ...same }) => ({ ...same, sinceMs: moment(since) })),
      })),
    }))
  }

  async #change(kind: 'retry' | 'discard', request: RetryRequest): Promise<number> {
    const question = { path: `v1/deliveries/${kind}`, body: selectionOf(request) }
    const { deliveries } = await this.#api.read<{ readonly deliveries: number }>(question, kind)
    return deliveries
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

/** The earliest time sent to the API: a duration ago can reach further back than dates can be written. */
const earliestMs = Date.UTC(1970, 0, 1)

/** A filter, with the parameter names of the API. */
function conditionsOf(
  filter: DeliveryFilter,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const { destinationId, id, sinceMs, untilMs } = filter
  const isOne = destinationId !== undefined && id !== undefined
  const written = (atMs: number | undefined): string | undefined =>
    atMs === undefined ? undefined : formatTimestamp(Math.max(atMs, earliestMs))
  return {
    id: isOne ? formatDeliveryId({ destinationId, id }) : undefined,
    destination: isOne ? undefined : destinationId,
    state: filter.states,
    type: filter.types,
    user: filter.userId,
    message: filter.messageId,
    since: written(sinceMs),
    until: written(untilMs),
  }
}

function deliveryOf(fields: DeliveryFields): LoggedDelivery {
  const { messageId, type, userId, state, lane, attempts, windowAttempts, manualRetries } = fields
  return {
    ...{ messageId, type, userId, state, lane, attempts, windowAttempts, manualRetries },
    destinationId: fields.destination,
    id: Number(fields.id.slice(fields.destination.length + 1)),
    sourceId: fields.source,
    reason: fields.reason,
    acceptedAtMs: moment(fields.acceptedAt),
    firstAttemptAtMs: momentOrNull(fields.firstAttemptAt),
    dueAtMs: momentOrNull(fields.dueAt),
    expiresAtMs: momentOrNull(fields.expiresAt),
    settledAtMs: momentOrNull(fields.settledAt),
    holds: fields.holds.map(({ url, until }) => ({ url, untilMs: momentOrNull(until) })),
  }
}

function momentOrNull(at: string | null): number | null {
  return at === null ? null : Date.parse(at)
}

function moment(at: string | null): number {
  return momentOrNull(at) ?? 0
}
