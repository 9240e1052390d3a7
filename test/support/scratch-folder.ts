import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a folder that is deleted at the end of its `using` block, for programs that run without vitest. */
export async function scratchFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'evroute-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
