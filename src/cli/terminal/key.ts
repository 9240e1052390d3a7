import { plainText } from '../../model/index.ts'

/** A key that is not a printable character; `unknown` has no meaning here. */
export type NamedKey =
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'delete'
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'home'
  | 'end'
  | 'erase_line'
  | 'erase_word'
  | 'interrupt'
  | 'suspend'
  | 'unknown'

/** A key press on a terminal in raw mode. */
export type Key =
  { readonly kind: NamedKey } | { readonly kind: 'character'; readonly text: string }

/** An escape sequence (CSI, SS3), a key with Alt, the escape key, or one character. */
const press = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\u001b])?|[^]/gu

const namedKeys: ReadonlyMap<string, NamedKey> = new Map<string, NamedKey>([
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\u001b', 'escape'],
  ['\u007f', 'backspace'],
  ['\b', 'backspace'],
  ['\u001b[3~', 'delete'],
  ['\u001b[A', 'up'],
  ['\u001bOA', 'up'],
  ['\u001b[B', 'down'],
  ['\u001bOB', 'down'],
  ['\u001b[D', 'left'],
  ['\u001bOD', 'left'],
  ['\u001b[C', 'right'],
  ['\u001bOC', 'right'],
  ['\u001b[H', 'home'],
  ['\u001bOH', 'home'],
  ['\u001b[1~', 'home'],
  ['\u0001', 'home'],
  ['\u001b[F', 'end'],
  ['\u001bOF', 'end'],
  ['\u001b[4~', 'end'],
  ['\u0005', 'end'],
  ['\u0015', 'erase_line'],
  ['\u0017', 'erase_word'],
  ['\u0003', 'interrupt'],
  ['\u001a', 'suspend'],
])

/**
 * The keys in input that arrived at once. An escape at the end is the escape key: terminals send a sequence
 * as one piece.
 */
export function keysOf(input: string): readonly Key[] {
  return (input.match(press) ?? []).map((text) => {
    const kind = namedKeys.get(text)
    if (kind !== undefined) return { kind }
    // Ignore characters that move the cursor or change the writing direction.
    const isWritable = !text.startsWith('\u001b') && plainText(text) === text
    return isWritable ? { kind: 'character', text } : { kind: 'unknown' }
  })
}
