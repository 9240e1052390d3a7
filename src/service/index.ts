/** The service of `evroute serve`, and the one without an HTTP server that other commands use. */
export * from './audience-previews.ts'
export * from './configuration/index.ts'
export * from './endpoint-names.ts'
export * from './local-service.ts'
export * from './offline-service.ts'
export * from './read-service-configuration.ts'
export type * from './service-options.ts'
export * from './service.ts'
