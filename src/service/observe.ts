import type { Metrics } from '../admin-api/index.ts'
import type { DestinationFaults } from '../delivery/index.ts'
import {
  hiddenEndpoint,
  type EndpointChange,
  type RequestRecord,
  type SettledDelivery,
} from '../model/index.ts'
import type { Log, Runtime } from '../runtime/index.ts'

/** Returns a runtime whose observer also updates the metrics and the log of a service. */
export function observedRuntime(
  given: Runtime,
  { metrics, faults }: { readonly metrics: Metrics; readonly faults: DestinationFaults },
): Runtime {
  const { observer } = given
  const endpoints = endpointLog(metrics, given.log)
  return {
    ...given,
    observer: {
      request: (record) => {
        metrics.request(record)
        faults.note(record)
        endpoints.request(record)
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
        endpoints.changed(change)
        metrics.endpoint(change)
        observer.endpoint(change)
      },
    },
  }
}

/** Logs an expired delivery. The log combines the lines of a destination, because an outage can make thousands. */
function logExpired({ destinationId, messageId, reason }: SettledDelivery, log: Log): void {
  log.warn(
    'a delivery expired: its retry window ended without success; once the endpoint works again, send it with ' +
      '`evroute deliveries retry --state expired --destination <id>`',
    { destinationId, messageId, error: reason },
  )
}

/**
 * Logs when an endpoint begins to fail, when its breaker opens, and when it has recovered. A breaker opens only after
 * many failures, which take hours if few webhooks are sent. Further failures are not logged.
 */
function endpointLog({ breakers }: Metrics, log: Log) {
  const failing = new Set<string>()
  const fieldsOf = ({ destinationId, url }: EndpointName) => {
    return { destinationId, url: hiddenEndpoint(url) }
  }
  const keyOf = ({ destinationId, url }: EndpointName): string => `${destinationId} ${url}`
  const stateOf = ({ destinationId, url }: EndpointName) =>
    breakers.endpoint(destinationId, url).state
  const recovered = (endpoint: EndpointName): void => {
    failing.delete(keyOf(endpoint))
    log.info('an endpoint has recovered', fieldsOf(endpoint))
  }
  return {
    request: (record: RequestRecord): void => {
      const { outcome, status, error } = record
      const isKnown = failing.has(keyOf(record))
      if (isKnown && outcome === 'success' && stateOf(record) === 'closed') recovered(record)
      // An endpoint that answers 429 works.
      const isFailure = outcome === 'retry' && status !== 429 && error !== 'interrupted'
      if (isKnown || !isFailure) return
      failing.add(keyOf(record))
      log.warn('an endpoint is failing; its webhooks are retried', { ...fieldsOf(record), error })
    },
    /** Call this before the metrics learn of the change. */
    changed: (change: EndpointChange): void => {
      const { state, error } = change
      const before = stateOf(change)
      if (state === 'open' && before !== 'open') {
        log.warn('an endpoint is down', { ...fieldsOf(change), error })
      }
      if (state === 'closed' && before !== 'closed') recovered(change)
    },
  }
}

type EndpointName = Pick<EndpointChange, 'destinationId' | 'url'>
