/** Characters of a body to read for its name, which stands before properties and context. */
export const bodyStartMax = 2_048

/** The begin of a body up to its name. Strings may be cut: only a whole one is a name. */
const upToName =
  /^\{"version":1,"type":"(?:track|page|screen)"(?:,"(?:userId|anonymousId)":(?:null|"(?:[^"\\]|\\.)*"))*,"(?:event|name)":("(?:[^"\\]|\\.)*")/

/**
 * Finds the name of a track event, page or screen in the begin of the body that `buildWebhookBody` wrote. Null
 * without a name, behind very long ids, and for erased bodies.
 */
export function eventNameOf(bodyStart: string): string | null {
  const [, name] = upToName.exec(bodyStart) ?? []
  return name === undefined ? null : (JSON.parse(name) as string)
}
