/** The configuration of a service: read, checked, compared. */
export * from './changes.ts'
export type * from './configuration.ts'
export { writeKeys, type GivenDocument } from './document.ts'
export { ConfigurationError, problemText, type ConfigurationProblem } from './problem.ts'
export * from './read-configuration.ts'
export type * from './secrets.ts'
export type * from './settings.ts'
