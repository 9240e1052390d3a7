/** The configuration of a service: read, checked, compared. */
export * from './changes.ts'
export type {
  AdminConfiguration,
  Configuration,
  ConfiguredDestination,
  ConfiguredSource,
} from './configuration.ts'
export { ConfigurationError, problemText, type ConfigurationProblem } from './problem.ts'
export * from './read-configuration.ts'
export type { SettingOrigin } from './secrets.ts'
export type { EffectiveSetting } from './settings.ts'
