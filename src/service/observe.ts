import type { Metrics } from '../admin-api/index.ts'
import type { EndpointFaults, FullBacklogs } from '../delivery/index.ts'
import { hiddenEndpoint, type EndpointChange } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Tracing } from './tracing.ts'

/** What learns of the service's work, beside the observer of its options. */
export interface ServiceObservers {
  /** Counts it. */
  readonly metrics: Metrics
  /** Notes which endpoints fail webhooks for good. */
  readonly faults: EndpointFaults
  /** Notes which destinations have a full backlog. */
  readonly backlogs: FullBacklogs
}

/** A runtime whose observer keeps metrics, spans and the log of a service up to date. */
export function observedRuntime(
  given: Runtime,
  observers: ServiceObservers,
  tracing: Tracing,
): Runtime {
  const { observer } = given
  const { metrics, faults, backlogs } = observers
  return {
    ...given,
    observer: {
      request: (record) => {
        metrics.request(record)
        faults.note(record)
        tracing.request(record)
        observer.request(record)
      },
      settled: (delivery) => {
        metrics.settled(delivery)
        observer.settled(delivery)
      },
      gaveUp: (deliveries) => {
        metrics.gaveUp(deliveries)
        if (deliveries.reason === 'backlog_full') backlogs.note(deliveries)
        observer.gaveUp?.(deliveries)
      },
      endpoint: (change) => {
        logEndpoint(change, { metrics, log: given.log })
        metrics.endpoint(change)
        observer.endpoint(change)
      },
    },
  }
}

/** An endpoint that stays down is logged once, not with every probe. */
function logEndpoint(
  { destinationId, url, state, error }: EndpointChange,
  { metrics, log }: Pick<ServiceObservers, 'metrics'> & Pick<Runtime, 'log'>,
): void {
  const { breaker: before } = metrics.breakers.endpoint(destinationId, url)
  const endpoint = { destinationId, url: hiddenEndpoint(url) }
  if (state === 'open' && before !== 'open') log.warn('an endpoint is down', { ...endpoint, error })
  if (state === 'closed' && before !== 'closed') log.info('an endpoint is well again', endpoint)
}
