import { test } from 'vitest'
import { createRuntime, silentLog } from '../../src/runtime/index.ts'
import { trackingApp } from '../../src/tracking-api/index.ts'
import { expectOwnPrototypes } from '../support/prototypes.ts'

test('requests keep their prototypes, because replacing them halves the throughput', async () => {
  const app = trackingApp({
    sourceOf: () => undefined,
    accept: () => Promise.resolve([]),
    isFull: () => false,
    runtime: createRuntime({ log: silentLog }),
  })
  await expectOwnPrototypes(app, '/v1/track')
})
