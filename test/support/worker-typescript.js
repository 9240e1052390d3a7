// For `node --import`: lets worker threads run TypeScript files directly. Vitest compiles the tests itself.
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) register('./typescript-hooks.js', import.meta.url)
