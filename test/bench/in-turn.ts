/**
 * Measures all of them in turn, so many times, in both orders: whatever the machine does meanwhile, it
 * does to all.
 *
 * @returns what was measured, by name, round after round
 */
export async function inTurn<Name extends string, Result>(
  names: readonly Name[],
  rounds: number,
  measure: (name: Name) => Promise<Result>,
): Promise<ReadonlyMap<Name, readonly Result[]>> {
  const results = new Map<Name, Result[]>(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results.get(name)?.push(await measure(name))
    }
  }
  return results
}
