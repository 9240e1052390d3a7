import { readFileSync } from 'node:fs'
import { format } from 'prettier'
import type { AdminApiOptions } from '../../../src/admin-api/index.ts'
import { openApiDocument } from '../../../src/admin-api/openapi.ts'
import { operations } from '../../../src/admin-api/operations.ts'
import { commandsPage } from './commands.ts'
import { configurationPage } from './configuration.ts'
import { exitCodesPage } from './exit-codes.ts'
import { manualPage } from './manual.ts'
import { recordsPage } from './records.ts'
import { readSources } from './sources.ts'
import { withFigures } from './speed.ts'

/** The pages that are made from the code or from measured figures, by their paths from `docs`. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  const sources = readSources()
  const read = (name: string): string =>
    readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
  return {
    'admin.openapi.json': await format(
      JSON.stringify(openApiDocument(operations({} as AdminApiOptions))),
      {
        parser: 'json',
        printWidth: 100,
      },
    ),
    'commands.md': await commandsPage(),
    'configuration.md': configurationPage(),
    'exit-codes.md': exitCodesPage(sources),
    'records.md': recordsPage(sources),
    'evroute.1': await manualPage(sources),
    'speed.md': withFigures(read('speed.md'), false),
    '../README.md': withFigures(read('../README.md'), true),
  }
}
