import { readFile } from 'node:fs/promises'

/** Returns what files of `src/` load, directly or indirectly: URLs of files and names of packages. */
export async function importedBy(...names: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const name of names) await findImports(sourceOf(name), found)
  return found
}

/** Returns the rooms that contain the files, sorted. */
export function roomsOf(files: Iterable<string>): readonly string[] {
  const rooms = [...files].map((file) => /\/src\/([^/]+)\//.exec(file)?.[1])
  return [...new Set(rooms)].filter((room) => room !== undefined).sort()
}

/** Returns the URL of a file of `src/`. */
export function sourceOf(name: string): URL {
  return new URL(`../../src/${name}`, import.meta.url)
}

async function findImports(file: URL, found: Set<string>): Promise<void> {
  if (found.has(file.href)) return
  found.add(file.href)
  const text = await readFile(file, 'utf8')
  for (const [, names, name = ''] of text.matchAll(/^(?:im|ex)port (.*?) ?from '(.*?)'$/gms)) {
    if (names?.startsWith('type ')) continue
    if (name.startsWith('.')) await findImports(new URL(name, file), found)
    else found.add(name)
  }
}
