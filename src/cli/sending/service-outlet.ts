import { Client } from '../../client/index.ts'
import { emptyLedger, endpointName } from '../../model/index.ts'
import {
  CallQueue,
  queueOptions,
  noDeletions,
  stopGraceMs,
  type Outlet,
  type OutletParts,
} from './outlet.ts'
import type { ServiceTarget } from './sending-options.ts'

type ServiceOutletParts = OutletParts<
  ServiceTarget,
  'rejected' | 'acknowledged' | 'retrying' | 'settled'
>

/** Makes the outlet that sends calls to a service. In its ledger, each accepted call is one delivery. */
export function serviceOutlet({ options, runtime, listener, target }: ServiceOutletParts): Outlet {
  let [accepted, acknowledged, failed] = [0, 0, 0]
  // A message from the service may quote the write key.
  const withoutKey = (text: string): string => text.replaceAll(target.writeKey, '***')
  const client = new Client(target.writeKey, {
    ...queueOptions(options),
    runtime,
    endpoint: target.endpoint,
    timeoutMs: options.timeoutMs,
  })
  client.on('delivered', () => {
    acknowledged++
    listener.acknowledged()
  })
  client.on('retry', (retry) => listener.retrying({ ...retry, reason: withoutKey(retry.reason) }))
  const rejected: typeof listener.rejected = (position, rejection) => {
    accepted--
    listener.rejected(position, rejection)
  }
  const queue = new CallQueue(client, { rejected }, (call) => {
    failed++
    const { messageId, type, attempts, code: reason } = call
    const destinationId = endpointName(target.endpoint)
    const delivery = { messageId, type, destinationId, state: 'failed', attempts, reason } as const
    listener.settled(delivery, withoutKey(call.message))
  })
  return {
    offer: async (row, position) => {
      if (row['type'] === 'delete') return noDeletions
      const result = await queue.offer(row, position)
      if (result.kind === 'taken') accepted++
      return result
    },
    finish: () => queue.flush(),
    stop: () => queue.close(stopGraceMs),
    close: () => queue.close(0),
    ledger: () =>
      Promise.resolve({
        ...{ ...emptyLedger, accepted, routed: accepted, deliveries: accepted },
        ...{ delivered: acknowledged, failed, pending: accepted - acknowledged - failed },
        acknowledged,
      }),
  }
}
