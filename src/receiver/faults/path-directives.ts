import { shortText } from '../../model/index.ts'
import { delayInWords, parseDelay } from './delay.ts'
import { faults, isFault, readAnswerName, statusRange, type GivenAnswer } from './fault.ts'

/** The delay and the answer that a request's path asks for. */
export interface PathDirectives {
  readonly delayMs: number | undefined
  readonly answer: GivenAnswer | undefined
  /** What is wrong with the path; null if it is valid. */
  readonly problem: string | null
}

type Directive = 'status' | 'delay' | 'fault'

const none: PathDirectives = Object.freeze({
  delayMs: undefined,
  answer: undefined,
  problem: null,
})

const accepted: Readonly<Record<Directive, string>> = {
  status: `a status from ${statusRange[0]} to ${statusRange[1]}, as in /status/503`,
  delay: `${delayInWords}, as in /delay/6s`,
  fault: `one of ${faults.join(', ')}, as in /fault/reset`,
}

/** Reads the beginning of a path, such as `/status/503`, `/fault/reset`, `/delay/6s` or `/delay/6s/status/503`. */
export function readPathDirectives(target: string): PathDirectives {
  if (!/^\/(?:status|delay|fault)(?:[/?]|$)/.test(target)) return none
  const [path = ''] = target.split('?', 1)
  const segments = path.split('/').slice(1)
  let found = none
  for (let at = 0; isDirective(segments[at]); at += 2) {
    const directive = segments[at] as Directive
    const text = segments[at + 1] ?? ''
    const [field, plural] = directive === 'delay' ? delayField : answerField
    if (found[field] !== undefined) return { ...none, problem: `The path asks for two ${plural}` }
    const value = directive === 'delay' ? parseDelay(text) : readAnswer(directive, text)
    if (value === undefined) return { ...none, problem: problemOf(directive, text) }
    found = { ...found, [field]: value }
  }
  return found
}

const delayField = ['delayMs', 'delays'] as const
const answerField = ['answer', 'answers'] as const

function readAnswer(directive: 'status' | 'fault', text: string): GivenAnswer | undefined {
  const answer = readAnswerName(text)
  return isFault(answer) === (directive === 'fault') ? answer : undefined
}

function problemOf(directive: Directive, text: string): string {
  const [written, subject] = text === '' ? ['nothing', 'there'] : [`"${shortText(text)}"`, 'it']
  return `The path has ${written} after /${directive}: ${subject} must be ${accepted[directive]}`
}

function isDirective(segment: string | undefined): segment is Directive {
  return segment !== undefined && Object.hasOwn(accepted, segment)
}
