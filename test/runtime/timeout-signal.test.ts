import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'vitest'
import { timeoutSignal } from '../../src/runtime/index.ts'

test('aborts a combined signal even if garbage is collected before', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, timeoutSignal(50)])
  const aborted = once(signal, 'abort')
  collect()
  // A timer of Node that keeps the process alive, as other work would.
  const work = setInterval(() => collect(), 10)
  await aborted
  clearInterval(work)
})
