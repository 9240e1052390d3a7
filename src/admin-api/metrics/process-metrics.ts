import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/** Returns the metrics of this process, which all its services share, because prom-client cannot stop measuring. */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
