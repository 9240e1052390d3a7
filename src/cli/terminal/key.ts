import { plainText, columnsOf } from '../../model/index.ts'

/** A key press on a terminal in raw mode. */
export type Key =
  { readonly kind: NamedKey } | { readonly kind: 'character'; readonly text: string }

/** An escape sequence (CSI or SS3), a key with Alt, the escape key, or one character. */
const press = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\u001b])?|[^]/gu

/** The texts that terminals send for keys without a printable character. */
const sequences = {
  enter: ['\r', '\n'],
  escape: ['\u001b'],
  backspace: ['\u007f', '\b'],
  up: ['\u001b[A', '\u001bOA'],
  down: ['\u001b[B', '\u001bOB'],
  erase_line: ['\u0015'],
  interrupt: ['\u0003'],
  suspend: ['\u001a'],
} as const

type NamedKey = keyof typeof sequences | 'unknown'

const namedKeys: ReadonlyMap<string, NamedKey> = new Map(
  Object.entries(sequences).flatMap(([kind, texts]) =>
    texts.map((text) => [text, kind as NamedKey] as const),
  ),
)

/** Parses keys that arrived together. An escape at the end is the escape key, because a sequence arrives as a whole. */
export function keysOf(input: string): readonly Key[] {
  return (input.match(press) ?? []).map((text) => {
    const kind = namedKeys.get(text)
    if (kind !== undefined) return { kind }
    // Ignore characters that move the cursor or change the writing direction.
    const isWritable = !text.startsWith('\u001b') && plainText(text) === text
    return isWritable ? { kind: 'character', text } : { kind: 'unknown' }
  })
}

/** Maximum length of a line. It is longer than a match may be, so the parser reports a match that is too long. */
const charactersMax = 10_000

/** Returns the line after a key, which changes only its end; unchanged if the key does not edit. */
export function editLine(line: string, key: Key): string {
  if (key.kind === 'backspace') return line.replace(/.$/su, '')
  if (key.kind === 'erase_line') return ''
  return key.kind === 'character' && line.length < charactersMax ? line + key.text : line
}

/** Returns the text if it fits in the columns, otherwise `…` and as much of its end as fits. */
export function cutFromStart(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text
  const characters = Array.from(text)
  let room = columnsMax - 1
  const start = characters.findLastIndex((character) => (room -= columnsOf(character)) < 0)
  return `…${characters.slice(start + 1).join('')}`
}
