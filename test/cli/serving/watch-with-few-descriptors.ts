// Watches a file while this process has no descriptor left, and after it has some again.
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileLookMs, watchFile } from '../../../src/cli/serving/serve.ts'
import { ManualClock } from '../../../src/runtime/index.ts'

const [path = ''] = process.argv.slice(2)
const clock = new ManualClock(0)
let changes = 0
const end = await watchFile(
  path,
  () => {
    changes++
  },
  clock,
)

/** Advances the clock to the next look, and waits until the watch plans another one. */
async function look(): Promise<number> {
  await clock.advance(fileLookMs)
  while (clock.nextDueMs() !== clock.nowMs() + fileLookMs) await nextTurn()
  return changes
}

const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  // No descriptor is left.
}
const changesWithout = await look()
for (const descriptor of taken) closeSync(descriptor)
writeFileSync(path, 'two')
const changesAfter = await look()
end()
process.stdout.write(JSON.stringify({ changesWithout, changesAfter }))
