/** The HTTP API of a receiver for pages and programs: watch, read, resend, plan answers. */
export type { Inspected } from './inspected.ts'
export { Inspector } from './inspector.ts'
