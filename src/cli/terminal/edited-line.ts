import { columnsOf, cutToColumns } from '../../model/index.ts'
import type { Key, NamedKey } from './key.ts'

/** A line being edited, with the cursor between its two halves. */
export interface EditedLine {
  readonly before: string
  readonly after: string
}

/** The visible part of a line. */
export interface LineView {
  readonly text: string
  /** Columns between the cursor and the end of the text. */
  readonly cursorBack: number
}

/** More than the maximum length of a match, so that the match parser reports the error. */
const charactersMax = 10_000

/** The line after a key; unchanged if the key does not edit. */
export function editLine(line: EditedLine, key: Key): EditedLine {
  const { before, after } = line
  if (key.kind !== 'character') return edits[key.kind]?.(line) ?? line
  return before.length + after.length >= charactersMax ? line : { before: before + key.text, after }
}

const edits: Partial<Readonly<Record<NamedKey, (line: EditedLine) => EditedLine>>> = {
  backspace: ({ before, after }) => ({ before: withoutLast(before), after }),
  delete: ({ before, after }) => ({ before, after: after.slice(firstOf(after).length) }),
  left: ({ before, after }) => ({ before: withoutLast(before), after: lastOf(before) + after }),
  right: ({ before, after }) => ({
    before: before + firstOf(after),
    after: after.slice(firstOf(after).length),
  }),
  home: ({ before, after }) => ({ before: '', after: before + after }),
  end: ({ before, after }) => ({ before: before + after, after: '' }),
  erase_line: ({ after }) => ({ before: '', after }),
  erase_word: ({ before, after }) => ({ before: before.replace(/\S*\s*$/, ''), after }),
}

function firstOf(text: string): string {
  return Array.from(text)[0] ?? ''
}

function lastOf(text: string): string {
  return Array.from(text).at(-1) ?? ''
}

function withoutLast(text: string): string {
  return text.slice(0, text.length - lastOf(text).length)
}

/** The part of a line around its cursor that fits into the columns. */
export function viewLine({ before, after }: EditedLine, columnsMax: number): LineView {
  // The cursor needs a column of its own after the text.
  const room = Math.max(columnsMax - 1, 1)
  const head = cutFromStart(before, room)
  const left = room - columnsOf(head)
  const tail = left === 0 ? '' : cutToColumns(after, left)
  return { text: head + tail, cursorBack: columnsOf(tail) }
}

/** The end of a text that fits into the columns. A text that was cut begins with `…`. */
function cutFromStart(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text
  const characters = Array.from(text)
  let room = columnsMax - 1
  const start = characters.findLastIndex((character) => (room -= columnsOf(character)) < 0)
  return `…${characters.slice(start + 1).join('')}`
}
