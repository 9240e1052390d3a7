/**
 * Reads a URL. Undefined if the text is not a URL.
 *
 * Don't use `URL.canParse`. On Node 20 it refuses every URL with a Latin-1 letter beyond ASCII, such as `ü`,
 * once V8 has optimised its caller.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
