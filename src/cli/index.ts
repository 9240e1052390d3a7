/** The command line: runs a command with its arguments, and connects it to the process. */
export { main } from './main.ts'
export { processIo } from './io.ts'
