import type { Metrics } from '../admin-api/index.ts'
import type { DestinationFaults } from '../delivery/index.ts'
import { hiddenEndpoint, type EndpointChange, type SettledDelivery } from '../model/index.ts'
import type { Log, Runtime } from '../runtime/index.ts'

/** Returns a runtime whose observer also updates the metrics and the log of a service. */
export function observedRuntime(
  given: Runtime,
  { metrics, faults }: { readonly metrics: Metrics; readonly faults: DestinationFaults },
): Runtime {
  const { observer } = given
  return {
    ...given,
    observer: {
      request: (record) => {
        metrics.request(record)
        faults.note(record)
        observer.request(record)
      },
      settled: (delivery) => {
        metrics.settled(delivery)
        if (delivery.state === 'expired') logExpired(delivery, given.log)
        observer.settled(delivery)
      },
      gaveUp: (deliveries) => {
        metrics.gaveUp(deliveries)
        if (deliveries.reason === 'backlog_full') faults.noteFull(deliveries)
        observer.gaveUp?.(deliveries)
      },
      endpoint: (change) => {
        logEndpoint(change, metrics, given.log)
        metrics.endpoint(change)
        observer.endpoint(change)
      },
    },
  }
}

/** Logs an expired delivery. The log combines the lines of a destination, because an outage can make thousands. */
function logExpired({ destinationId, messageId, reason }: SettledDelivery, log: Log): void {
  log.warn(
    'a delivery expired: its retries ended without success; once the endpoint works again, send it with ' +
      '`evroute deliveries retry --state expired --destination <id>`',
    { destinationId, messageId, error: reason },
  )
}

/** Logs when an endpoint goes down and recovers. Failed probes in between are not logged. */
function logEndpoint(
  { destinationId, url, state, error }: EndpointChange,
  metrics: Metrics,
  log: Log,
): void {
  const { state: before } = metrics.breakers.endpoint(destinationId, url)
  const endpoint = { destinationId, url: hiddenEndpoint(url) }
  if (state === 'open' && before !== 'open') log.warn('an endpoint is down', { ...endpoint, error })
  if (state === 'closed' && before !== 'closed') log.info('an endpoint has recovered', endpoint)
}
