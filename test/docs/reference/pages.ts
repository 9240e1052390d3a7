import { commandsPage } from './commands.ts'
import { configurationPage } from './configuration.ts'
import { exitCodesPage } from './exit-codes.ts'
import { recordsPage } from './records.ts'
import { readSources } from './sources.ts'

/** The pages of `docs` that are made from the code, by their file names. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  const sources = readSources()
  return {
    'commands.md': await commandsPage(),
    'configuration.md': configurationPage(),
    'exit-codes.md': exitCodesPage(sources),
    'records.md': recordsPage(sources),
  }
}
