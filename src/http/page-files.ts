import { readdir, readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname } from 'node:path'

/** Where the build puts the pages. The relative path is the same from `src`, `dist` and the bundled command. */
const folder = (): URL => new URL('../../dist/page/', import.meta.url)

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The page may run only its own files, and no other page may frame it. */
const headers: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Serves the files of the pages. The first request reads all of them; if it finds none, the next one tries again. */
export class PageFiles {
  readonly #start: string
  #files: Awaited<ReturnType<typeof readFiles>> = new Map()

  constructor(start: 'index.html' | 'service.html') {
    this.#start = start
  }

  /** Sends a file by its path below the page; false if the file is missing or the page is not installed. */
  async send(response: ServerResponse, name: string): Promise<boolean> {
    if (this.#files.size === 0) this.#files = await readFiles()
    const file = this.#files.get(name === '' ? this.#start : name)
    if (file === undefined) return false
    response.setHeaders(new Map(Object.entries({ ...headers, 'content-type': file.mediaType })))
    response.end(file.bytes)
    return true
  }
}

/** Reads all files, by name. A request only looks a name up, so it cannot leave the folder. */
async function readFiles() {
  const files = new Map<string, { readonly bytes: Buffer; readonly mediaType: string }>()
  // A program that bundles the receiver gets no files: it has no such folder and, in CommonJS, no `import.meta.url`.
  const list = async () => readdir(folder(), { recursive: true })
  for (const file of await list().catch(() => [])) {
    const name = file.replaceAll('\\', '/')
    const mediaType = mediaTypes[extname(name)]
    if (mediaType === undefined) continue
    files.set(name, { bytes: await readFile(new URL(name, folder())), mediaType })
  }
  return files
}
