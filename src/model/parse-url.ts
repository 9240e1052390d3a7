/** Parses a URL; undefined if it is invalid. `URL.canParse` refuses letters such as `ü` once Node 20 has optimised it. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
