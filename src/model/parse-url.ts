/**
 * Reads a URL; undefined if the text is not a URL.
 *
 * Don't use `URL.canParse`. On Node 20, once V8 has optimised its caller, it refuses every URL with a Latin-1 letter
 * beyond ASCII, such as `ü`.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
