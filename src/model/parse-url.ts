/** Parses a URL; undefined if it is invalid. */
export function parseUrl(text: string): URL | undefined {
  // On Node 20, `URL.canParse` refuses hosts with `ü` once V8 has optimised its caller.
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Completes the short forms of a URL: `3000/hook` and `localhost:3000` become http URLs. */
export function fullUrl(text: string): string {
  if (/^\d{1,5}(?=$|[/?])/.test(text)) return `http://localhost:${text}`
  return /^[\w.-]+:\d{1,5}(?=$|[/?])|^localhost(?=$|[/?])/.test(text) ? `http://${text}` : text
}
