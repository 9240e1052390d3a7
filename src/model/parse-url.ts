/** Reads a URL; undefined if it is none. `URL.canParse`, once Node 20 has optimised it, refuses letters such as `ü`. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
