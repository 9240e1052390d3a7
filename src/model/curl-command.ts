/** Headers that curl sets itself. */
const ownHeaders = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'expect'])

/** Control characters except line feeds, lone surrogates and bidi controls. */
const unprintable = /(?!\n)[\p{Cc}\p{Cs}\p{Bidi_Control}]/u

/** A received request. */
interface ReceivedParts {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBase64: string
  /** The body as text; undefined if it is not UTF-8. */
  readonly text: string | undefined
}

/**
 * Makes a command for a POSIX shell that sends the same bytes and headers to an origin. The Host of the request is not
 * used, because the sender chose it and could name a different server.
 */
export function curlCommand(
  { method, path, headers, rawBase64, text }: ReceivedParts,
  origin: string,
): string {
  const url = origin + (path.startsWith('/') ? path : '/')
  const words = ['curl', '-g', '-i', '-X', method, bytesWord(url)]
  for (const [name, value] of Object.entries(headers)) {
    if (ownHeaders.has(name)) continue
    // curl sends `name;` as a header without a value, and drops a header written as `name:`.
    words.push('-H', bytesWord(value === '' ? `${name};` : `${name}: ${value}`))
  }
  if (text === undefined || unprintable.test(text)) {
    return `echo ${rawBase64} | base64 -d | ${[...words, '--data-binary', '@-'].join(' ')}`
  }
  // With --data-binary, a text that begins with @ would be read as a file name.
  return [...words, '--data-raw', shellQuoted(text)].join(' ')
}

/** Quotes a text for a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Quotes a path or a header, in which each character is one byte. Writes bytes outside ASCII in octal. */
function bytesWord(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return shellQuoted(text)
  const octal = (byte: string): string => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`
  return `"$(printf -- ${shellQuoted(text.replace(/[^\x20-\x7e]|[\\%]/g, octal))})"`
}
