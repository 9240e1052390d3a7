import { eventTypes, shortText, nearestName } from '../model/index.ts'
import type { Field, FieldName } from './field.ts'
import { globText } from './glob.ts'
import type { Scanner, Written } from './scanner.ts'
import { signatureVerdicts, signatureWords } from './subject.ts'
import { comparisons, parseNumber, type Comparison, type ValueTest } from './value-test.ts'

/** A value and the operator before it. `=` counts as no operator. */
interface WrittenValue extends Written {
  readonly operator: '' | Comparison
}

/** A range of numbers, including its ends. A missing end is infinite. */
interface NumberRange {
  readonly lowest: number
  readonly highest: number
}

/** How a field writes its numbers. */
interface NumberForm {
  readonly parse: (text: string) => number | undefined
  /** Reads the name of a range, such as `5xx`. */
  readonly parseClass?: (text: string) => NumberRange | undefined
}

const statusForm: NumberForm = {
  parse: (text) => (/^\d{1,3}$/.test(text) ? Number(text) : undefined),
  parseClass: parseStatusClass,
}
const statusAdvice =
  'A status is a number such as 503, a class such as 5xx, a limit such as >=500, or a range such as 500..599.'
const sizeAdvice =
  'A size is a number of bytes such as 500, 2kb or 1.5mb, a limit such as >2kb, or a range such as 1kb..2kb.'

/** Makes the test for a value of a field. Throws MatchError if the field cannot have the value. */
type MakeTest = (value: WrittenValue, scanner: Scanner) => ValueTest

/** The named fields that accept only certain values. */
const testMakers: Readonly<Partial<Record<FieldName, MakeTest>>> = {
  type: (value, scanner) => nameTest(value, eventTypes, scanner),
  sig: (value, scanner) => {
    const isSynonym = value.text.toLowerCase() === signatureWords.invalid
    return nameTest(isSynonym ? { ...value, text: 'invalid' } : value, signatureVerdicts, scanner)
  },
  status: (value, scanner) =>
    numberTest(value, statusForm, scanner) ?? scanner.fail(value, noValue(value), statusAdvice),
  bytes: (value, scanner) =>
    numberTest(value, { parse: parseSize }, scanner) ??
    scanner.fail(value, noValue(value), sizeAdvice),
}

/** Reads the alternative values after a field's colon. Throws MatchError for a value that the field cannot have. */
export function readValues(scanner: Scanner, field: Field): readonly ValueTest[] {
  const makeTest = field.kind === 'named' ? (testMakers[field.name] ?? textTest) : anyTest
  const tests: ValueTest[] = []
  do tests.push(makeTest(readValue(scanner), scanner))
  while (scanner.take(','))
  return tests
}

function readValue(scanner: Scanner): WrittenValue {
  const { at } = scanner
  if (scanner.take('!=')) {
    scanner.fail(
      { offset: at, length: 2 },
      '"!=" is not an operator',
      'To negate a term, put "-" before it.',
    )
  }
  const operators = [...(Object.keys(comparisons) as Comparison[]), '='] as const
  const found = operators.find((sign) => scanner.take(sign))
  const written = scanner.read(/[,"]/)
  if (written.length > 0) return { ...written, operator: !found || found === '=' ? '' : found }
  return scanner.fail(
    written,
    'a value is missing here',
    'Write it right after the colon or comma. "" is the empty string.',
  )
}

function nameTest(value: WrittenValue, names: readonly string[], scanner: Scanner): ValueTest {
  const text = value.text.toLowerCase()
  if (value.operator === '' && names.includes(text)) return { kind: 'glob', glob: [text], text }
  const near = nearestName(text, names)
  const meant = near === undefined ? '' : `Did you mean ${near}? `
  return scanner.fail(value, noValue(value), `${meant}Values are ${names.join(', ')}.`)
}

function noValue(value: WrittenValue): string {
  return `"${shortText(value.text, 40)}" is not a value of this field`
}

function textTest(value: WrittenValue, scanner: Scanner): ValueTest {
  if (value.operator === '') return { kind: 'glob', glob: value.glob, text: globText(value.glob) }
  return scanner.fail(
    value,
    `this field is text, and "${value.operator}" compares only numbers`,
    `If "${value.operator}" is part of the value, put the value in quotes.`,
  )
}

/** Makes the test for a member of the body. A value in quotes is a string. */
function anyTest(value: WrittenValue, scanner: Scanner): ValueTest {
  if (value.isQuoted && value.operator === '') return textTest(value, scanner)
  const number = value.isQuoted ? undefined : numberTest(value, { parse: parseNumber }, scanner)
  if (number !== undefined) return number
  if (value.operator !== '') {
    return scanner.fail(
      value,
      `"${value.operator}" compares only numbers`,
      'Write a number such as 10, -3 or 0.5 after it, without quotes.',
    )
  }
  const { text } = value
  if (text === 'null') return { kind: 'equal', value: null, text }
  if (text === 'true' || text === 'false') return { kind: 'equal', value: text === 'true', text }
  return textTest(value, scanner)
}

function numberTest(
  value: WrittenValue,
  { parse, parseClass }: NumberForm,
  scanner: Scanner,
): ValueTest | undefined {
  const { text } = value
  const number = parse(text)
  if (value.operator !== '') {
    return number === undefined ? undefined : comparison(value.operator, number, text)
  }
  if (number !== undefined) return { kind: 'number', value: number, text }
  const range = parseClass?.(text) ?? parseRange(text, parse)
  if (range === undefined) return undefined
  const { lowest, highest } = range
  if (lowest > highest) scanner.fail(value, 'this range is empty', 'Write the lower end first.')
  const bounds = [
    ['>=', lowest],
    ['<=', highest],
  ] as const
  return { kind: 'range', bounds, text }
}

function comparison(operator: Comparison, limit: number, written: string): ValueTest {
  return { kind: 'range', bounds: [[operator, limit]], text: operator + written }
}

function parseRange(text: string, parse: NumberForm['parse']): NumberRange | undefined {
  const middle = text.indexOf('..')
  if (middle === -1 || text === '..') return undefined
  const [low, high] = [text.slice(0, middle), text.slice(middle + 2)]
  const lowest = low === '' ? -Infinity : parse(low)
  const highest = high === '' ? Infinity : parse(high)
  return lowest === undefined || highest === undefined ? undefined : { lowest, highest }
}

function parseStatusClass(text: string): NumberRange | undefined {
  if (!/^[1-5]xx$/.test(text)) return undefined
  const lowest = Number(text[0]) * 100
  return { lowest, highest: lowest + 99 }
}

/** Reads a size such as `500`, `2kb` or `1.5mb` as bytes. 1 kb is 1,024 bytes. */
function parseSize(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(b|kb|mb)?$/i.exec(text) ?? []
  if (number === undefined) return undefined
  const unitBytes = { b: 1, kb: 1024, mb: 1024 * 1024 }[unit?.toLowerCase() ?? 'b'] ?? 1
  const size = Math.round(Number(number) * unitBytes)
  return Number.isSafeInteger(size) ? size : undefined
}
