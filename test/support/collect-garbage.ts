import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const collectionsMax = 200

/** Lets go of everything that nobody holds, as a weak reference then shows. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // What a weak reference was made for, or read from, stays until the job ends.
  await nextTurn()
  collect()
}

/**
 * Counts what weak references still point to after a collection. While V8 compiles a function that ran
 * often, its thread holds on to what it reads: there are more collections until only as many are left
 * as are expected, none unless said otherwise, but no more than 200.
 */
export async function countSurvivors(
  references: readonly WeakRef<object>[],
  expected = 0,
): Promise<number> {
  for (let collections = 1; ; collections++) {
    await collectGarbage()
    const survivors = references.filter((reference) => reference.deref() !== undefined).length
    if (survivors <= expected || collections === collectionsMax) return survivors
  }
}
