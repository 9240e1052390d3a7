/** Audiences and computed traits: lists of members become identify calls about who changed. */
export * from './audience.ts'
export * from './store-port.ts'
export * from './sync-audience.ts'
