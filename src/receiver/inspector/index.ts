/** What can be seen of a receiver and done to it over HTTP, by a page or a program. */
export { Inspector, type Inspected } from './inspector.ts'
