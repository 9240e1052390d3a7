import { writeFile } from 'node:fs/promises'
import { referencePages } from './reference/pages.ts'

const docs = new URL('../../docs/', import.meta.url)

for (const [name, text] of Object.entries(await referencePages())) {
  await writeFile(new URL(name, docs), text)
}
