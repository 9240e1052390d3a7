import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/**
 * Event loop lag, memory, CPU and garbage collection, under the names that dashboards know. They belong
 * to the process, however many services it runs, and what measures them can not be stopped: there is one
 * for all.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
