/**
 * Reads a URL; undefined if the text is not a URL. On Node 20, an optimised `URL.canParse` refuses every URL with a
 * Latin-1 letter beyond ASCII, such as `ü`.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
