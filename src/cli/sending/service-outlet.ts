import { Client } from '../../client/index.ts'
import { emptyLedger, endpointName } from '../../model/index.ts'
import { callQueue, queueOptions, type Outlet, type OutletParts } from './outlet.ts'
import type { ServiceTarget } from './sending-options.ts'

/** Makes the outlet that sends calls to a service. In its ledger, each accepted call is one delivery. */
export function serviceOutlet(parts: OutletParts<ServiceTarget>): Outlet {
  const { options, runtime, report, target } = parts
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
    report.acknowledged()
  })
  client.on('retry', (retry) => report.retrying({ ...retry, reason: withoutKey(retry.reason) }))
  const queue = callQueue({
    client,
    rejected: (position, rejection) => {
      accepted--
      report.rejected(position, rejection)
    },
    failed: ({ messageId, type, attempts, code: reason, message }) => {
      failed++
      const destinationId = endpointName(target.endpoint)
      const delivery = {
        messageId,
        type,
        destinationId,
        state: 'failed',
        attempts,
        reason,
      } as const
      report.settled(delivery, withoutKey(message))
    },
  })
  return {
    ...queue,
    offer: async (row, position) => {
      const result = await queue.offer(row, position)
      if (result.kind === 'taken') accepted++
      return result
    },
    ledger: () =>
      Promise.resolve({
        ...{ ...emptyLedger, accepted, routed: accepted, deliveries: accepted },
        ...{ delivered: acknowledged, failed, pending: accepted - acknowledged - failed },
        acknowledged,
      }),
  }
}
