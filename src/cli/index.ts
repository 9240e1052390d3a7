/** The command line. */
export { main } from './main.ts'
export { processIo } from './io.ts'
