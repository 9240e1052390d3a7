import { plainText } from '../../model/index.ts'
import { formatCount } from './numbers.ts'

/** One check in a report for CI, such as an expectation: a `testcase` in JUnit. */
export interface ReportCase {
  readonly name: string
  readonly failure: Failure | undefined
}

interface Failure {
  readonly type: string
  /** The expected and the actual value, on one line. */
  readonly message: string
  readonly detail: string
}

/** The checks of one command. */
export interface Report {
  readonly title: string
  readonly cases: readonly ReportCase[]
  readonly durationMs: number
}

/** Formats failures as annotations of GitHub Actions. Escapes all values, so that a payload cannot inject a command. */
export function githubAnnotations({ title, cases }: Report): string {
  return cases
    .flatMap(({ name, failure }) => {
      if (failure === undefined) return []
      const message = data(`${name}: ${failure.message}\n${failure.detail}`)
      const property = data(title).replace(/:/g, '%3A').replace(/,/g, '%2C')
      return [`::error title=${property}::${message}\n`]
    })
    .join('')
}

function data(text: string): string {
  return text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A')
}

/** Formats the results as Markdown, for the job summary of GitHub Actions. */
export function githubSummary({ title, cases }: Report): string {
  const failed = cases.filter(({ failure }) => failure !== undefined)
  const met = cases.length - failed.length
  return [
    `### ${title}: ${formatCount(met)} of ${formatCount(cases.length)} expectations met`,
    '',
    '| | Expectation | Result |',
    '| --- | --- | --- |',
    ...cases.map(({ name, failure: { message } = { message: 'met' }, failure }) => {
      const sign = failure === undefined ? '✔' : '✖'
      return `| ${sign} | ${cell(name)} | ${cell(message)} |`
    }),
    '',
    ...failed.flatMap(({ name, failure }) => fenced(`${name}\n${failure?.detail ?? ''}`)),
    '',
  ].join('\n')
}

/** Escapes text for a table cell. Uses HTML, because Markdown's inline code would show the backslash of `\|`. */
function cell(text: string): string {
  return `<code>${plainText(text).replace(/[&<>|`*_[\]\\]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</code>`
}

/** Formats a code block. Its fence is longer than any fence in the text. */
function fenced(text: string): readonly string[] {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return [`${fence}text`, text, fence, '']
}

/** Characters that XML 1.0 forbids: control characters, lone surrogates, and two noncharacters. */
const notInXml = /[^\P{Cc}\t\n\r]|[\p{Cs}\ufffe\uffff]/gu

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** Formats a report as JUnit XML: one suite, with a test case for each check. */
export function junitXml({ title, cases, durationMs }: Report): string {
  const failures = cases.filter(({ failure }) => failure !== undefined).length
  const counts = `tests="${cases.length}" failures="${failures}" errors="0" skipped="0"`
  const time = `time="${(durationMs / 1_000).toFixed(3)}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="evroute" ${counts} ${time}>`,
    `  <testsuite name="${attribute(title)}" ${counts} ${time}>`,
    ...cases.map((each) => caseXml(title, each)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function caseXml(title: string, { name, failure }: ReportCase): string {
  const start = `    <testcase classname="${attribute(title)}" name="${attribute(name)}"`
  if (failure === undefined) return `${start}/>`
  const { type, message, detail } = failure
  return [
    `${start}>`,
    `      <failure type="${attribute(type)}" message="${attribute(message)}">${content(`${message}\n${detail}`)}</failure>`,
    '    </testcase>',
  ].join('\n')
}

/** Escapes an attribute. Includes tabs and line breaks, because parsers would replace them with spaces. */
function attribute(text: string): string {
  return text.replace(notInXml, '').replace(/[&<>"\t\n\r]/g, (sign) => entities[sign] ?? '')
}

function content(text: string): string {
  return text.replace(notInXml, '').replace(/[&<>\r]/g, (sign) => entities[sign] ?? '')
}
