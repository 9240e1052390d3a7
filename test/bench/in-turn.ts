/**
 * Measures each contender once per round, in reverse order every other round, so that changes in the
 * machine's load affect all alike.
 *
 * @returns the measurements by name, in the order of the rounds
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
