import { format } from 'prettier'
import { openApiDocument } from '../../../src/admin-api/openapi.ts'
import { commandsPage } from './commands.ts'
import { configurationPage } from './configuration.ts'
import { exitCodesPage } from './exit-codes.ts'
import { manualPage } from './manual.ts'
import { recordsPage } from './records.ts'
import { readSources } from './sources.ts'

/** The pages that are made from the code, by their paths from `docs`. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  const sources = readSources()
  return {
    'admin.openapi.json': await format(JSON.stringify(openApiDocument()), {
      parser: 'json',
      printWidth: 100,
    }),
    'commands.md': await commandsPage(),
    'configuration.md': configurationPage(),
    'exit-codes.md': exitCodesPage(sources),
    'records.md': recordsPage(sources),
    '../man/evroute.1': await manualPage(sources),
  }
}
