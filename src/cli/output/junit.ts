import type { Report, ReportCase } from './report-case.ts'

/** Characters that XML 1.0 does not allow: control characters, lone surrogates, and two non-characters. */
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

/** A report in JUnit's format: one suite, with a test case for each check. */
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

/** Parsers turn line breaks in attributes into spaces, so escape them. */
function attribute(text: string): string {
  return text.replace(notInXml, '').replace(/[&<>"\t\n\r]/g, (sign) => entities[sign] ?? '')
}

function content(text: string): string {
  return text.replace(notInXml, '').replace(/[&<>\r]/g, (sign) => entities[sign] ?? '')
}
