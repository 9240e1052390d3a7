/** Turns calls into stored deliveries: checks, normalises, routes, builds the bodies. */
export * from './check-parsed-call.ts'
export * from './intake.ts'
export * from './normalise.ts'
export * from './plan.ts'
