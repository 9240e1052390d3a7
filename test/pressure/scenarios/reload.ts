import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createRuntime, stopwatch } from '../../../src/runtime/index.ts'
import { readServiceConfiguration, Service } from '../../../src/service/index.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import type { PressureScenario } from '../scenario.ts'

const destinationCount = 5_000

/** Reloads a changed configuration, from reading the file until it is in use. */
export const scenario: PressureScenario = {
  title: `one of ${destinationCount} destinations changes`,
  run: async () => {
    await using folder = await scratchFolder()
    const file = join(folder.path, 'evroute.config.json')
    const runtime = createRuntime()
    const read = async (changed: number) => {
      await writeFile(file, JSON.stringify(documentWith(changed)))
      return readServiceConfiguration(file, { env: undefined, log: runtime.log })
    }
    const { configuration } = await read(0)
    const service = await Service.start({ configuration, runtime })
    try {
      await delay(2_000)
      // Warm-up: the first reload compiles the code.
      await read(1).then(({ configuration: next }) => service.reconfigure(next))
      const pauses = pausesMs()
      const elapsedMs = stopwatch()
      const { configuration: next } = await read(2)
      const changes = service.reconfigure(next)
      const tookMs = elapsedMs()
      await delay(100)
      const longestMs = pauses.end()
      return [
        {
          must: 'the reload finds the one change within 5 s',
          measured: `${changes.map(({ setting }) => setting).join()} in ${Math.round(tookMs)} ms`,
          holds: changes.length === 1 && tookMs < 5_000,
        },
        {
          must: 'the event loop is never blocked for 250 ms',
          measured: `${Math.round(longestMs)} ms`,
          holds: longestMs < 250,
        },
      ]
    } finally {
      await service.close()
    }
  },
}

function documentWith(changed: number): object {
  const sources = Array.from({ length: 50 }, (_, index) => ({
    id: `source_${index}`,
    writeKeys: [`wk_${index}`],
  }))
  const destinations = Array.from({ length: destinationCount }, (_, index) => ({
    id: `crm_${index}`,
    type: 'Webhooks',
    sources: [`source_${index % sources.length}`],
    endpoints: [{ url: `http://127.0.0.1:9/${index === 7 ? `changed_${changed}` : index}` }],
    sharedSecret: 'not-a-real-secret',
  }))
  const network = { allow: ['127.0.0.0/8'] }
  return { listen: { port: 0 }, store: 'memory:', network, sources, destinations }
}

/** Measures the longest time between two turns of the event loop. */
function pausesMs(): { readonly end: () => number } {
  let longestMs = 0
  let elapsedMs = stopwatch()
  let timer = setImmediate(function turn() {
    longestMs = Math.max(longestMs, elapsedMs())
    elapsedMs = stopwatch()
    timer = setImmediate(turn)
  })
  return {
    end: () => {
      clearImmediate(timer)
      return longestMs
    },
  }
}
