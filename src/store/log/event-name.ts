/** How many characters of a body to read for the event's name, which comes before properties and context. */
export const bodyStartMax = 2_048

/**
 * The beginning of a body, up to the name. The body may be cut off inside a string; only a complete string
 * is a name.
 */
const upToName =
  /^\{"version":1,"type":"(?:track|page|screen)"(?:,"(?:userId|anonymousId)":(?:null|"(?:[^"\\]|\\.)*"))*,"(?:event|name)":("(?:[^"\\]|\\.)*")/

/**
 * Finds the name of a track, page or screen event in the beginning of a body that `buildWebhookBody` wrote.
 * Returns null if there is no name, if very long ids precede it, and for erased bodies.
 */
export function eventNameOf(bodyStart: string): string | null {
  const [, name] = upToName.exec(bodyStart) ?? []
  return name === undefined ? null : (JSON.parse(name) as string)
}
