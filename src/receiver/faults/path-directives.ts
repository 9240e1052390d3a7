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
  const found: { delayMs?: number; answer?: GivenAnswer } = {}
  for (let at = 0; isDirective(segments[at]); at += 2) {
    const directive = segments[at] as Directive
    const problem = follow(found, directive, segments[at + 1] ?? '')
    if (problem !== undefined) return { ...none, problem }
  }
  return { delayMs: found.delayMs, answer: found.answer, problem: null }
}

function follow(
  found: { delayMs?: number; answer?: GivenAnswer },
  directive: Directive,
  text: string,
): string | undefined {
  if (directive === 'delay') {
    if (found.delayMs !== undefined) return 'The path asks for two delays'
    const delayMs = parseDelay(text)
    if (delayMs === undefined) return problemOf(directive, text)
    found.delayMs = delayMs
    return undefined
  }
  if (found.answer !== undefined) return 'The path asks for two answers'
  const answer = readAnswerName(text)
  if (answer === undefined || isFault(answer) !== (directive === 'fault')) {
    return problemOf(directive, text)
  }
  found.answer = answer
  return undefined
}

function problemOf(directive: Directive, text: string): string {
  const [written, subject] = text === '' ? ['nothing', 'there'] : [`"${shortText(text)}"`, 'it']
  return `The path has ${written} after /${directive}: ${subject} must be ${accepted[directive]}`
}

function isDirective(segment: string | undefined): segment is Directive {
  return segment !== undefined && Object.hasOwn(accepted, segment)
}
