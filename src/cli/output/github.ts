import { plainText } from '../../model/index.ts'
import { formatCount } from './numbers.ts'
import type { Report, ReportCase } from './report-case.ts'

/**
 * The workflow commands that show failures in GitHub Actions. All values are escaped, so that a payload
 * cannot inject a command.
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

/** A Markdown table of the results, for the job summary of GitHub Actions. */
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

/** Text in a table cell. Inline code would show the backslash that escapes a bar. */
function cell(text: string): string {
  return `<code>${plainText(text).replace(/[&<>|`*_[\]\\]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</code>`
}

/** A code block with a fence longer than any in its content. */
function fenced(text: string): readonly string[] {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return [`${fence}text`, text, fence, '']
}
