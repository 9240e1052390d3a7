import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const collectionsMax = 200

/** Collects all garbage, so that weak references to it become empty. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // Creating or reading a WeakRef keeps its target alive until the current job ends.
  await nextTurn()
  collect()
}

/**
 * Counts the objects that survive garbage collection. While V8 optimises a function, its compiler thread
 * keeps the objects that it reads alive. So this collects until at most `expected` objects are left, up to
 * 200 times.
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
