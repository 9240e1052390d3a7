// For `node --import`: lets Node run TypeScript files directly.
import { register } from 'node:module'

register('./typescript-hooks.js', import.meta.url)
