import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { referencePages } from './reference/pages.ts'

const docs = new URL('../../docs/', import.meta.url)
const pages = await referencePages()

describe('the reference pages', () => {
  test.each(Object.keys(pages))(
    '%s agrees with the code (to update it, run npm run docs:reference)',
    async (name) => {
      expect(await readFile(new URL(name, docs), 'utf8')).toBe(pages[name])
    },
  )
})
