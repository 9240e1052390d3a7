import { execFile } from 'node:child_process'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { fileLookMs, watchFile } from '../../../src/cli/serving/serve.ts'
import { ManualClock } from '../../../src/runtime/index.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A watched file, and the number of reported changes. */
async function watched() {
  const path = join(await temporaryFolder(), 'evroute.config.json')
  await writeFile(path, 'one')
  const clock = new ManualClock(0)
  let changes = 0
  const changed = (): void => {
    changes += 1
  }
  const end = await watchFile(path, changed, clock)
  onTestFinished(end)
  /** The changes so far, after the watch has looked again. */
  const changesNow = async (): Promise<number> => {
    await clock.advance(fileLookMs)
    await expect.poll(() => clock.nextDueMs()).toBe(clock.nowMs() + fileLookMs)
    return changes
  }
  return { path, clock, end, changesNow }
}

test('an unchanged file reports no change', async () => {
  const { changesNow } = await watched()
  expect(await changesNow()).toBe(0)
})

test('a change before the first look is reported, and each later one once', async () => {
  const { path, changesNow } = await watched()
  await writeFile(path, 'two')
  expect(await changesNow()).toBe(1)
  expect(await changesNow()).toBe(1)
  await writeFile(`${path}.next`, 'two')
  await rename(`${path}.next`, path)
  expect(await changesNow()).toBe(2)
})

test('a file that disappears or comes back is a change', async () => {
  const { path, changesNow } = await watched()
  await rm(path)
  expect(await changesNow()).toBe(1)
  expect(await changesNow()).toBe(1)
  await writeFile(path, 'one')
  expect(await changesNow()).toBe(2)
})

test('a watch that has ended neither looks nor reports', async () => {
  const { path, clock, end } = await watched()
  await writeFile(path, 'two')
  end()
  expect(clock.nextDueMs()).toBeUndefined()
})

test.runIf(process.platform === 'linux')(
  'a file that cannot be read for lack of descriptors counts as unchanged',
  async () => {
    const path = join(await temporaryFolder(), 'evroute.config.json')
    await writeFile(path, 'one')
    const program = fileURLToPath(new URL('watch-with-few-descriptors.ts', import.meta.url))
    const hooks = new URL('../../support/typescript.js', import.meta.url).href
    const node = [process.execPath, '--import', hooks, program, path]
    const limited = ['-c', 'ulimit -n 200 && exec "$@"', 'bash', ...node]
    const { stdout } = await promisify(execFile)('bash', limited)
    expect(JSON.parse(stdout)).toEqual({ changesWithout: 0, changesAfter: 1 })
  },
)
