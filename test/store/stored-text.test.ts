import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { fromStored, toStored } from '../../src/store/stored-text.ts'
import { newPath } from './sqlite/store-calls.ts'

test('plain text is stored as it is', () => {
  const text = '{"name":"Zoë 🦊\\n"}'
  expect(toStored(text)).toBe(text)
})

test('any text is read from the database as it was written', async () => {
  const database = await openDatabase(await newPath())
  const echo = database.prepare('SELECT ? AS text')
  const special = fc.constantFrom('\0', '\u001a', '\ud83e', '\udd8a', '🦊', 'a', '0000')
  fc.assert(
    fc.property(fc.string({ unit: special }), (text) => {
      const row = echo.get(toStored(text)) as { text: string }
      expect(fromStored(row.text)).toBe(text)
    }),
  )
  database.close()
})
