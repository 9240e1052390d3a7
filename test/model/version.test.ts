import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { evrouteVersion } from '../../src/model/index.ts'

test('evrouteVersion is the version of package.json', () => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  expect(evrouteVersion).toBe((JSON.parse(text) as { version: string }).version)
})
