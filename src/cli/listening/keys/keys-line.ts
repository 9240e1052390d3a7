import { columnsOf, cutToColumns, shortText } from '../../../model/index.ts'
import { formatCount } from '../../output/numbers.ts'
import type { Style } from '../../output/style.ts'
import type { BottomText } from '../../terminal/bottom-line.ts'
import { viewLine } from '../../terminal/key.ts'
import type { KeysState } from './step-keys.ts'

const editorPrompt = '/ '

/** Formats the line of keys, at most `columnsMax` wide, most important part first. */
export function keysLine(state: KeysState, columnsMax: number, style: Style): BottomText {
  const { mode } = state
  switch (mode.kind) {
    case 'filter': {
      const { text, cursorBack } = viewLine(mode.line, columnsMax - columnsOf(editorPrompt))
      return { text: `${style.strong(editorPrompt)}${text}`, cursorBack }
    }
    case 'failure':
      return plain('Fail the next one: 5 answers 503, t times out, esc cancels')
    case 'number': {
      const { purpose, digits } = mode
      const prompt = purpose === 'pick' ? '#' : `Compare with #`
      const rest = purpose === 'compare' && digits === '' ? ' (enter: the previous one)' : ''
      return plain(`${prompt}${digits}${rest}`)
    }
    case 'ending':
      return plain('Ending. Press Ctrl-C to quit at once')
    case 'keys':
      return plain(wordsOf(state).join(' · '))
  }

  function plain(text: string): BottomText {
    return { text: style.faint(cutToColumns(text, columnsMax)), cursorBack: 0 }
  }
}

function wordsOf({ arrived, arrivedInPause, filter, picked }: KeysState): readonly string[] {
  const paused = arrivedInPause === undefined ? [] : [`paused, ${formatCount(arrivedInPause)} new`]
  const filtered = filter === undefined ? [] : [`/ ${filter.text}`]
  if (picked !== undefined) {
    const { seq, type, userId, body } = picked
    const name = body?.['event'] ?? body?.['name']
    const parts = [`▸ #${seq}`, type ?? 'malformed', userId, name]
    const label = parts
      .filter((part) => typeof part === 'string')
      .map((part) => shortText(part, 24))
    return [...paused, label.join(' '), 'enter show', 'r resend', 'e edit', 'd compare', 'y curl']
  }
  return [...paused, ...filtered, 'h help', 'q quit', `${formatCount(arrived)} received`]
}
