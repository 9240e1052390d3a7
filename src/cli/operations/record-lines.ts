import { StringDecoder } from 'node:string_decoder'

/** A longer line does not come from a service. */
const lineCharactersMax = 4 * 1_024 * 1_024

/**
 * Parses a stream of NDJSON, line by line. Yields undefined for a line that is not a record. The last line
 * needs no line break.
 */
export async function* recordsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new StringDecoder('utf8')
  let held = ''
  for await (const chunk of bytes) {
    const lines = `${held}${decoder.write(Buffer.from(chunk))}`.split('\n')
    held = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield recordIn(line)
    if (held.length > lineCharactersMax) {
      yield undefined
      return
    }
  }
  if (held !== '') yield recordIn(held)
}

function recordIn(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
