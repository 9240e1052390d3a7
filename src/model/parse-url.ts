/** Parses a URL; undefined if it is invalid. Avoids `URL.canParse`, which in Node 20 refuses `ü` once optimised. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
