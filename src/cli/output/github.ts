import { plainText } from '../../model/index.ts'
import { formatCount } from './numbers.ts'
import type { Report, ReportCase } from './report-case.ts'

/**
 * The workflow commands that make GitHub Actions show what failed beside the job. Whatever stands in
 * them is escaped, so that no payload can begin a command of its own.
 */
export function githubAnnotations({ title, cases }: Report): string {
  return cases
    .flatMap(({ name, failure }) => {
      if (failure === undefined) return []
      const message = `${name}: ${failure.message}\n${failure.detail}`
      return [`::error title=${property(`${title}: expectation unmet`)}::${data(message)}\n`]
    })
    .join('')
}

function data(text: string): string {
  return text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A')
}

function property(text: string): string {
  return data(text).replace(/:/g, '%3A').replace(/,/g, '%2C')
}

/** A table of what was checked in Markdown, for the summary of a job in GitHub Actions. */
export function githubSummary({ title, cases }: Report): string {
  const failed = cases.filter(({ failure }) => failure !== undefined)
  const met = cases.length - failed.length
  return [
    `### ${title}: ${formatCount(met)} of ${formatCount(cases.length)} expectations met`,
    '',
    '| | Expectation | Result |',
    '| --- | --- | --- |',
    ...cases.map(tableRow),
    '',
    ...failed.flatMap(({ name, failure }) => fenced(`${name}\n${failure?.detail ?? ''}`)),
    '',
  ].join('\n')
}

function tableRow({ name, failure }: ReportCase): string {
  const [sign, result] = failure === undefined ? ['✔', 'met'] : ['✖', failure.message]
  return `| ${sign} | ${cell(name)} | ${cell(result)} |`
}

/** Text as it stands, in a cell of a table: code would show the backslash before a bar. */
function cell(text: string): string {
  return `<code>${plainText(text).replace(/[&<>|`*_[\]\\]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</code>`
}

/** A block of code that its content cannot end. */
function fenced(text: string): readonly string[] {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return [`${fence}text`, text, fence, '']
}
