import { expect, test } from 'vitest'
import { githubAnnotations, githubSummary, type Report } from '../../../src/cli/output/ci-report.ts'

const report: Report = {
  title: 'evroute listen',
  durationMs: 5,
  cases: [
    { name: 'type:track', failure: undefined },
    {
      name: 'event:"a|b"',
      failure: {
        type: 'too_few',
        message: 'expected at least 1, got 0',
        detail: '100%\r\n::error::```\n````x',
      },
    },
  ],
}

test('an annotation is one line for everything that failed', () => {
  expect(githubAnnotations(report)).toBe(
    '::error title=evroute listen::' +
      'event:"a|b": expected at least 1, got 0%0A100%25%0D%0A::error::```%0A````x\n',
  )
  expect(githubAnnotations({ ...report, title: 'a,b' })).toMatch(/^::error title=a%2Cb::/)
})

test('a summary has a row for each result, and failures in a block that no text can end early', () => {
  expect(githubSummary(report)).toBe(
    [
      '### evroute listen: 1 of 2 expectations met',
      '',
      '| | Expectation | Result |',
      '| --- | --- | --- |',
      '| ✔ | <code>type:track</code> | <code>met</code> |',
      '| ✖ | <code>event:"a&#124;b"</code> | <code>expected at least 1, got 0</code> |',
      '',
      '`````text',
      'event:"a|b"',
      '100%\r\n::error::```\n````x',
      '`````',
      '',
      '',
    ].join('\n'),
  )
})
