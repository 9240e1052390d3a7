import type { ExitCode } from '../exit-code.ts'
import type { CalledCommand } from './access.ts'
import type { ReadersRun } from './readers.ts'

/** Imports the code that opens stores only now, so that help and usage errors appear at once. */
export async function onReaders(
  called: CalledCommand,
  work: (run: ReadersRun) => Promise<ExitCode>,
): Promise<void> {
  const { runReaders } = await import('./readers.ts')
  await runReaders(called, work)
}
