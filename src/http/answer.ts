/** How much of an answer's body is of interest. */
export interface AnswerLimits {
  /** Bytes that are read before the connection is given up. */
  readonly readBytesMax: number
  /** Bytes that are kept, from the beginning. */
  readonly keptBytesMax: number
}

/** What was read of an answer's body. */
export interface AnswerText {
  /** What is kept. */
  readonly text: string
  /** False when the body did not end: it was cut off, or is longer than what is read. */
  readonly isWhole: boolean
}

/**
 * Reads an answer's body until it ends, is too long or is cut off. Never throws: the answer's status
 * arrived, and what it is worth without the rest of the body is the caller's to decide.
 */
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
    // Cut off by the sender of the answer or by a deadline: what arrived is kept.
    isWhole = false
  }
  return { text: Buffer.concat(kept).toString('utf8'), isWhole }
}

/** The value of a header; the first of one that was sent several times. */
export function headerValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
