import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * Returns the metrics of this process: event loop lag, memory, CPU and garbage collection, under the names that
 * dashboards expect. All services of a process share them, because prom-client cannot stop measuring.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
