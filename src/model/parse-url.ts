/**
 * Reads a URL; undefined if the text is not one. Don't use `URL.canParse` instead: once Node 20 has optimised it, it
 * refuses URLs with a Latin-1 letter beyond ASCII, such as `ü`.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
