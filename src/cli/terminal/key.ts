import { plainText, columnsOf, cutToColumns } from '../../model/index.ts'
import type { BottomText } from './bottom-line.ts'

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
  delete: ['\u001b[3~'],
  up: ['\u001b[A', '\u001bOA'],
  down: ['\u001b[B', '\u001bOB'],
  left: ['\u001b[D', '\u001bOD'],
  right: ['\u001b[C', '\u001bOC'],
  home: ['\u001b[H', '\u001bOH', '\u001b[1~', '\u0001'],
  end: ['\u001b[F', '\u001bOF', '\u001b[4~', '\u0005'],
  erase_line: ['\u0015'],
  erase_word: ['\u0017'],
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

/** A line being edited, with the cursor between its two halves. */
export interface EditedLine {
  readonly before: string
  readonly after: string
}

/** Maximum length of a line. It is longer than a match may be, so the parser reports a match that is too long. */
const charactersMax = 10_000

/** Returns the line after a key; unchanged if the key does not edit. */
export function editLine(line: EditedLine, key: Key): EditedLine {
  const { before, after } = line
  if (key.kind !== 'character') return edits[key.kind]?.(line) ?? line
  return before.length + after.length >= charactersMax ? line : { before: before + key.text, after }
}

const first = /^./su
const last = /.$/su

const edits: Partial<Readonly<Record<NamedKey, (line: EditedLine) => EditedLine>>> = {
  backspace: ({ before, after }) => ({ before: before.replace(last, ''), after }),
  delete: ({ before, after }) => ({ before, after: after.replace(first, '') }),
  left: ({ before, after }) => ({
    before: before.replace(last, ''),
    after: (last.exec(before)?.[0] ?? '') + after,
  }),
  right: ({ before, after }) => ({
    before: before + (first.exec(after)?.[0] ?? ''),
    after: after.replace(first, ''),
  }),
  home: ({ before, after }) => ({ before: '', after: before + after }),
  end: ({ before, after }) => ({ before: before + after, after: '' }),
  erase_line: ({ after }) => ({ before: '', after }),
  erase_word: ({ before, after }) => ({ before: before.replace(/\S*\s*$/, ''), after }),
}

/** Returns the part of a line around its cursor that fits in the columns. */
export function viewLine({ before, after }: EditedLine, columnsMax: number): BottomText {
  // The cursor needs a column of its own after the text.
  const room = Math.max(columnsMax - 1, 1)
  const head = cutFromStart(before, room)
  const remaining = room - columnsOf(head)
  const tail = remaining === 0 ? '' : cutToColumns(after, remaining)
  return { text: head + tail, cursorBack: columnsOf(tail) }
}

/** Returns the text if it fits in the columns, otherwise `…` and as much of its end as fits. */
function cutFromStart(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text
  const characters = Array.from(text)
  let room = columnsMax - 1
  const start = characters.findLastIndex((character) => (room -= columnsOf(character)) < 0)
  return `…${characters.slice(start + 1).join('')}`
}
