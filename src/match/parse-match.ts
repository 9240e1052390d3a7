import { shortText } from '../model/index.ts'
import { bodyRoots, type Field } from './field.ts'
import { globText } from './glob.ts'
import { Match, matchLimits, type Term } from './match.ts'
import { fieldOf, readKeys, type WrittenField } from './read-field.ts'
import { readValues } from './read-values.ts'
import { Scanner, type Written } from './scanner.ts'
import type { ValueTest } from './value-test.ts'

/** Operators of other query languages, and what to write instead. */
const foreignWords: ReadonlyMap<string, string> = new Map([
  ['AND', 'Leave it out (all terms must hold anyway)'],
  ['OR', 'Write several values with commas, as in type:track,page'],
  ['NOT', 'Put "-" before the term'],
])

/**
 * Reads a match: a condition on requests, as in `--filter` and in expectations.
 *
 * White space separates terms, which must all hold. A `-` negates a term. Commas separate alternative values. `*`
 * stands for any characters. Text with white space needs single or double quotes. A backslash escapes the next
 * character. Case matters, except in words and in the values of `type` and `sig`.
 *
 * - `type:track,page`: one of the seven types
 * - `event:"Order*"`: the event of a track call; `name:`, `category:`: those of a page or screen
 * - `user:u_1`, `anonymous:`, `group:`, `previous:`, `id:`: ids. `user` and `previous` also read the keys of an
 *   alias; `id` is the messageId
 * - `sig:valid,unchecked`: the verdict on the signature; `wrong` means the same as `invalid`
 * - `status:503`, `status:5xx`, `status:>=500`: the status of the answer
 * - `path:/hook*`: the path, with or without the query
 * - `bytes:1kb..2kb`, `bytes:>2kb`: the size of the body
 * - `properties.revenue:>10`, `traits.plan:pro`, `context.page.path:`, `body.version:1`: a member of the body, by
 *   keys and array indexes. A key needs quotes if it has characters other than letters, digits, `_`, `$` and `-`:
 *   `traits."Company Size"`. A quoted first key is a key of the body itself: `"Previous ID":anon_9`
 * - `has:context.ip`: the member is present, even with the value null
 * - `order`: the word occurs, in any case, in a value of the body, in a key inside `properties`, `traits` or
 *   `context`, or in a text that a list of requests shows, such as `wrong`; the word `*` matches any webhook
 *
 * A value of the body can be a number or a range: `10`, `>10`, `>=`, `<`, `<=`, `10..20`, `10..`, `..20`. Ranges
 * include their ends. Numbers and ranges also match numbers in strings. A value can be `true`, `false` or `null`. Any
 * other value, and a value in quotes, is a string. A string with an asterisk also matches the text of numbers and
 * booleans.
 *
 * @throws MatchError with the wrong characters and what is accepted there
 */
export function parseMatch(text: string): Match {
  return readMatch(text)
}

interface TermReading {
  /** Called with each term and its offset; throws to refuse the term. */
  readonly check?: (term: Term, offset: number, scanner: Scanner) => void
  /** Reads a count or a time, such as `x3` or `within 2s`. By default, these are refused. */
  readonly readSuffix?: (scanner: Scanner) => void
}

/** Reads a match as {@link parseMatch} does. `check` can refuse a term; `readSuffix` reads what follows the terms. */
export function readMatch(
  text: string,
  { check, readSuffix = refuseSuffix }: TermReading = {},
): Match {
  const scanner = new Scanner(text)
  const { textMax, termsMax } = matchLimits
  if (text.length > textMax) {
    const tooLong = { offset: textMax, length: 1 }
    scanner.fail(tooLong, 'this is too long', `Use at most ${textMax} characters.`)
  }
  const terms: Term[] = []
  while (scanner.skipGap()) {
    const { at: offset } = scanner
    if (isSuffix(scanner.rest)) {
      readSuffix(scanner)
      continue
    }
    const term = readTerm(scanner)
    terms.push(term)
    if (terms.length > termsMax) {
      const tooMany = { offset, length: scanner.at - offset }
      scanner.fail(tooMany, 'one term too many', `Use at most ${termsMax} terms.`)
    }
    check?.(term, offset, scanner)
  }
  if (terms.length > 0) return new Match(terms)
  return scanner.fail(
    { offset: 0, length: 0 },
    'there is nothing to match',
    'Write a condition such as type:track event:"Order*", or * for any webhook.',
  )
}

function refuseSuffix(scanner: Scanner): never {
  return scanner.fail(
    scanner.takeWord(),
    'only an expectation can have a count or a time',
    'Remove the count or time. To search for the word, put it in quotes.',
  )
}

function isSuffix(word: string): boolean {
  return word === 'never' || word === 'within' || /^x(?:\d|\.\.)/.test(word)
}

function readTerm(scanner: Scanner): Term {
  const { at: offset } = scanner
  if (scanner.take('!')) {
    scanner.fail(
      { offset, length: 1 },
      '"!" is not an operator',
      'To negate a term, put "-" before it.',
    )
  }
  const isNegated = scanner.take('-')
  if (isNegated && (scanner.isAtGap || scanner.next === '-')) {
    scanner.fail(
      { offset, length: 1 },
      'a term is missing after this "-"',
      'Put "-" directly before a term, as in -type:page. To search for a "-", put it in quotes.',
    )
  }
  const { at } = scanner
  const written = readKeys(scanner)
  if (scanner.take(':')) return { isNegated, ...readCondition(written, scanner) }
  scanner.moveTo(at)
  return { isNegated, field: { kind: 'word' }, tests: [readWord(scanner)] }
}

type Condition = Pick<Term, 'field' | 'tests'>

function readCondition(written: WrittenField, scanner: Scanner): Condition {
  const condition = readKnownCondition(written, scanner)
  if (scanner.isAtGap) return condition
  return scanner.failHere(
    'the term should end here',
    'Put a space between terms. A value with commas, quotes or spaces needs quotes around it.',
  )
}

function readKnownCondition(written: WrittenField, scanner: Scanner): Condition {
  const [first] = written.keys
  const isAlone = written.keys.length === 1 && first?.isQuoted === false
  const name = isAlone ? first.text : ''
  if (name === 'has') {
    const field = fieldOf(readKeys(scanner), scanner)
    return { field, tests: [{ kind: 'present', text: 'present' }] }
  }
  const field = fieldOf(written, scanner)
  if (isPart(field)) {
    const part = field.keys[0] ?? 'body'
    scanner.fail(written, `"${part}" is an object`, `Write ${part}.<key>:<value>, or has:${part}.`)
  }
  return { field, tests: readValues(scanner, field) }
}

/** Whether a field is always an object: the whole body, or `properties`, `traits` or `context`. */
function isPart(field: Field): field is Extract<Field, { readonly kind: 'body' }> {
  if (field.kind !== 'body') return false
  const [first, ...inner] = field.keys
  return first === undefined || (inner.length === 0 && bodyRoots.includes(first))
}

function readWord(scanner: Scanner): ValueTest {
  const written = scanner.read(/[,"]/)
  if (!written.isQuoted) checkWord(written, scanner)
  if (!scanner.isAtGap) {
    scanner.failHere(
      'the word should end here',
      'A word with commas, quotes or spaces needs quotes around it.',
    )
  }
  return wordTest(written.glob.map((piece) => piece.toLowerCase()))
}

function checkWord(written: Written, scanner: Scanner): void {
  const word = written.text
  const foreign = foreignWords.get(word)
  if (foreign !== undefined) {
    scanner.fail(written, `"${word}" is not an operator`, `${foreign}, or put the word in quotes.`)
  }
  const sign = /[=<>]/.exec(word)
  if (sign !== null) {
    const range = { offset: written.offset + sign.index, length: 1 }
    scanner.fail(
      range,
      'a colon is missing before this',
      'Write properties.revenue:>10 or user:u_1.',
    )
  }
  if (/^(?:properties|props|traits|context|body)\../.test(word)) {
    const name = shortText(word, 40)
    scanner.fail(written, 'a condition is missing', `Write has:${name}, or ${name}:<value>.`)
  }
}

function wordTest(pieces: readonly string[]): ValueTest {
  const bare = pieces.join('*')
  const isBare = /^[a-z_*][\w*]*$/.test(bare) && bare.split('*').length === pieces.length
  const text = globText(pieces)
  const quoted = text.startsWith('"') ? text : `"${text}"`
  return {
    kind: 'word',
    glob: ['', ...pieces, ''],
    text: isBare && !isSuffix(bare) ? bare : quoted,
  }
}
