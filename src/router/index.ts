/** Which destinations an event goes to, and why. Pure: no I/O, no time. */
export * from './route.ts'
