import { fileURLToPath } from 'node:url'

const folder = new URL('../../fixtures/', import.meta.url)

/** Returns the absolute path of a file in fixtures/, such as `calls.ndjson` or `webhooks/track.json`. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(name, folder))
}
