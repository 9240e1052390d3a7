/** How much of an answer's body to read and to keep. */
export interface AnswerLimits {
  /** A longer body is cut off, and its connection is closed. */
  readonly readBytesMax: number
  /** How many bytes to keep from the beginning of the body. */
  readonly keptBytesMax: number
}

/** The part of an answer's body that was read. */
export interface AnswerText {
  readonly text: string
  /** False if the body was cut off or exceeds the limit. */
  readonly isWhole: boolean
}

/** Reads an answer's body until it ends, exceeds the limit or is cut off. Never throws. */
export async function readAnswer(
  body: AsyncIterable<Uint8Array>,
  { readBytesMax, keptBytesMax }: AnswerLimits,
): Promise<AnswerText> {
  const kept: Uint8Array[] = []
  let readBytes = 0
  let isWhole = true
  try {
    for await (const chunk of body) {
      if (readBytes < keptBytesMax) kept.push(chunk.subarray(0, keptBytesMax - readBytes))
      readBytes += chunk.length
      // Leaving the loop destroys the body and with it the connection.
      if (readBytes > readBytesMax) {
        isWhole = false
        break
      }
    }
  } catch {
    // The peer or a timeout cut the body off. Keep the part that arrived.
    isWhole = false
  }
  return { text: Buffer.concat(kept).toString('utf8'), isWhole }
}

/** Returns the value of a header; the first one if there are several. */
export function headerValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
