import { expect, test } from 'vitest'
import { importedBy, roomsOf } from '../../support/imports.ts'

test('the thread of a store loads nothing of those who ask it', async () => {
  expect(roomsOf(await importedBy('store/threaded/store-thread.ts'))).toEqual([
    'model',
    'runtime',
    'store',
  ])
})
