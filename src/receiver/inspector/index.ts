/** The HTTP API of a receiver for pages and programs: watch, read, resend, plan answers. */
export { Inspector, type Inspected } from './inspector.ts'
