import { StringDecoder } from 'node:string_decoder'

/** A line of what a service tells has fewer characters. */
const lineCharactersMax = 4 * 1_024 * 1_024

/**
 * The records of NDJSON, as they come; a line that is none is undefined. The last line counts without a
 * line break too.
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
