/** From calls to stored deliveries: check, normalise, route, build the bodies. */
export * from './check-parsed-call.ts'
export * from './intake.ts'
export * from './normalise.ts'
export * from './plan.ts'
