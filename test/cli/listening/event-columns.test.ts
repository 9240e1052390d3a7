import { expect, test } from 'vitest'
import { eventText } from '../../../src/cli/listening/event-text.ts'
import { plainStyle } from '../../../src/cli/output/style.ts'
import { columnsOf } from '../../../src/model/index.ts'
import { SummaryMemory } from '../../../src/receiver/index.ts'
import { receivedEvent } from './keys/events.ts'

const body = { type: 'track', userId: 'user_12345678', event: 'Order Completed' } as const
const event = receivedEvent(7, body, { status: 503, injected: 'status 503' })

function lineIn(columns: number): string {
  const memory = new SummaryMemory()
  const view = { style: plainStyle, memory, verbose: false, columns, program: 'evroute' }
  return eventText(event, view).trimEnd()
}

test.each([
  {
    columns: 100,
    line: /^[\d:.]{12} {2}#7 {4}TRACK {6}user_12345678 {2}“Order Co… {2}- unchecked {2}503 {2}3ms {2}injected status 503$/,
  },
  {
    columns: 80,
    line: /^#7 {4}TRACK {6}user_12345678 {2}“Order Completed” {2}- unchecked {2}503 {2}injected$/,
  },
  { columns: 60, line: /^#7 {4}TRACK {6}user_123456… {2}“Order.*… {2}- {2}503 {2}injected$/ },
  { columns: 40, line: /^#7 {4}TRACK {6}“Order Complet… {2}- {2}503$/ },
])('a line of $columns columns leaves out what does not fit', ({ columns, line }) => {
  expect(lineIn(columns)).toMatch(line)
  expect(columnsOf(lineIn(columns))).toBeLessThanOrEqual(columns)
})

test('a note is wrapped between words', () => {
  const reason =
    'The signature was made with a different secret than the one that this receiver has'
  const view = {
    style: plainStyle,
    memory: new SummaryMemory(),
    verbose: false,
    program: 'evroute',
  }
  const [, ...lines] = eventText({ ...event, reason }, { ...view, columns: 40 })
    .trimEnd()
    .split('\n')
  expect(lines).toEqual([
    '  └ The signature was made with a',
    '    different secret than the one that',
    '    this receiver has',
  ])
})
