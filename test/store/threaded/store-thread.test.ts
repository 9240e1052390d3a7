import { expect, test } from 'vitest'
import { importedBy, roomsOf } from '../../support/imports.ts'

test('the thread of a store loads no rooms of its callers', async () => {
  expect(roomsOf(await importedBy('store/threaded/store-thread.ts'))).toEqual([
    'model',
    'runtime',
    'store',
    'threads',
  ])
})
