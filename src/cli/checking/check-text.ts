import type { CaseVerdict, HandlerFinding, HandlerReport } from '../../handler-check/index.ts'
import { columnsOf, cutToColumns, formatDuration } from '../../model/index.ts'
import type { Style } from '../output/style.ts'

/** How a check is shown to a person. */
export interface CheckView {
  readonly style: Style
  readonly columns: number | undefined
}

/** The room for the name of a case. */
export const caseIdColumns = 16
const answerColumns = 7
const durationColumns = 7

const headings = {
  taken: 'A right handler takes a webhook',
  refused: 'A right handler refuses a webhook',
} as const

/** The line above the cases that a correct handler takes, or those that it refuses. */
export function headingText(expected: CaseVerdict['expected'], { style }: CheckView): string {
  return `${style.faint(headings[expected])}\n`
}

/** One line for a case. */
export function verdictText(
  verdict: CaseVerdict,
  { style, columns = Infinity }: CheckView,
): string {
  const { id, about, isRight, reaction, durationMs } = verdict
  if (reaction === 'not_sent') return `${style.faint(`- ${id.padEnd(caseIdColumns)}  not sent`)}\n`
  const answer = answerOf(verdict).padEnd(answerColumns)
  const duration = formatDuration(durationMs).padStart(durationColumns)
  const before = `${id.padEnd(caseIdColumns)}  ${answer} ${duration}  `
  const line = before + cutToColumns(about, Math.max(columns - columnsOf(before) - 2, 1))
  return isRight ? `${style.good('✔')} ${line}\n` : `${style.bad('✖')} ${style.strong(line)}\n`
}

function answerOf({ status, error, reaction }: CaseVerdict): string {
  return status === null ? (error ?? reaction) : String(status)
}

/** A mistake of the handler, its fix, and the cases that show it. */
export function findingText(
  finding: HandlerFinding,
  { style, columns = Infinity }: CheckView,
): string {
  const { message, fix, cases } = finding
  const [first = '', ...rest] = wrapped(message, columns - 2)
  const lines = [
    `${style.bad('✖')} ${style.strong(first)}`,
    ...rest.map((line) => `  ${style.strong(line)}`),
    ...indented('Fix: ', fix, columns),
    ...indented('Cases: ', cases.join(', '), columns).map((line) => style.faint(line)),
  ]
  return `\n${lines.join('\n')}\n`
}

function indented(label: string, text: string, columns: number): readonly string[] {
  return wrapped(`${label}${text}`, columns - 2).map((line) => `  ${line}`)
}

/** Breaks a text between words. A word that is too long has a line of its own. */
function wrapped(text: string, columnsMax: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && columnsOf(last) + 1 + columnsOf(word) <= columnsMax) {
      lines[lines.length - 1] = `${last} ${word}`
    } else lines.push(word)
  }
  return lines
}

/** The numbers of cases by verdict. */
export interface CheckCounts {
  readonly right: number
  readonly wrong: number
  readonly notSent: number
}

/** Counts the verdicts. */
export function countVerdicts({ verdicts }: HandlerReport): CheckCounts {
  const notSent = verdicts.filter(({ reaction }) => reaction === 'not_sent').length
  const right = verdicts.filter(({ isRight }) => isRight).length
  return { right, wrong: verdicts.length - right - notSent, notSent }
}

/** The last line. */
export function checkSummaryText(
  counts: CheckCounts,
  durationMs: number,
  { style }: CheckView,
): string {
  const { right, wrong, notSent } = counts
  const all = right + wrong + notSent
  const isRight = right === all
  const parts = [
    `${right} of ${all} cases right`,
    ...(wrong > 0 ? [`${wrong} wrong`] : []),
    ...(notSent > 0 ? [`${notSent} not sent`] : []),
  ]
  const line = `${isRight ? style.good('✔') : style.bad('✖')} ${parts.join(', ')}`
  return `\n${line} (${formatDuration(durationMs)})\n`
}
