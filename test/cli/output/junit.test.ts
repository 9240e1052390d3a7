import { expect, test } from 'vitest'
import { junitXml } from '../../../src/cli/output/ci-report.ts'

test('a report has a suite with a case for everything that was checked', () => {
  const xml = junitXml({
    title: 'evroute listen',
    durationMs: 1_234.4,
    cases: [
      { name: 'type:track', failure: undefined },
      {
        name: 'event:"a&b" never',
        failure: {
          type: 'too_many',
          message: 'expected none, got 1',
          detail: 'It is <#5>\n  & more',
        },
      },
    ],
  })
  expect(xml).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="evroute" tests="2" failures="1" errors="0" skipped="0" time="1.234">
  <testsuite name="evroute listen" tests="2" failures="1" errors="0" skipped="0" time="1.234">
    <testcase classname="evroute listen" name="type:track"/>
    <testcase classname="evroute listen" name="event:&quot;a&amp;b&quot; never">
      <failure type="too_many" message="expected none, got 1">expected none, got 1
It is &lt;#5&gt;
  &amp; more</failure>
    </testcase>
  </testsuite>
</testsuites>
`)
})

test('characters that XML forbids are left out, and no text ends its element early', () => {
  const nasty = 'a\u0000\u001b[31m\u0085\ud800\ufffe"]]>\r\n\tb</failure>'
  const xml = junitXml({
    title: nasty,
    durationMs: 0,
    cases: [{ name: nasty, failure: { type: nasty, message: nasty, detail: nasty } }],
  })
  expect(xml).not.toMatch(/[^\P{Cc}\n\t]|[\p{Cs}\ufffe]|\r/u)
  expect(xml).toContain('name="a[31m&quot;]]&gt;&#13;&#10;&#9;b&lt;/failure&gt;"')
  expect(xml.match(/<\/failure>/g)).toHaveLength(1)
  expect(xml).toContain('>a[31m"]]&gt;&#13;\n\tb&lt;/failure&gt;\n')
})
