declare module 'cross-spawn' {
  import type { spawn } from 'node:child_process'
  /** Node's `spawn`, which on Windows also finds and quotes scripts such as `npm.cmd`. */
  const crossSpawn: typeof spawn
  export default crossSpawn
}
