/**
 * The service as a library: receives calls from sources, routes them, and delivers them as signed webhooks.
 *
 * @packageDocumentation
 */
export { ConfigurationError, type ConfigurationProblem } from './configuration/index.ts'
export {
  createService,
  type CreateServiceOptions,
  type RunningService,
  type ServiceConfiguration,
} from './create-service.ts'
export type { ServiceAddress } from './service-options.ts'
