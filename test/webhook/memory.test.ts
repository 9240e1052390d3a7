import { expect, test } from 'vitest'
import { runSource } from '../support/run-source.ts'
import { endlessAnswers } from './endless-answers.ts'
import { HostileEndpoint } from './hostile-endpoint.ts'
import { body } from './post-to.ts'

const requestsPerEndpoint = 5
/** Less than one of the bodies of 100 MB, and enough for uncollected garbage. */
const growthBytesMax = 24 * 1024 * 1024

test('endless answers do not increase memory', async () => {
  const endpoints = await Promise.all(
    endlessAnswers.map(({ answer }) =>
      HostileEndpoint.start(...Array.from({ length: requestsPerEndpoint + 1 }, () => answer)),
    ),
  )
  const urls = endpoints.map((endpoint) => endpoint.url())
  const program = new URL('post-repeatedly.ts', import.meta.url)
  const output = await runSource(program, [body, String(requestsPerEndpoint), ...urls])
  const growths = JSON.parse(output) as readonly number[]
  expect(growths).toHaveLength(endlessAnswers.length)
  for (const [index, { name }] of endlessAnswers.entries()) {
    expect(growths[index], name).toBeLessThan(growthBytesMax)
  }
  expect(endpoints.map(({ requests }) => requests)).toEqual(
    endlessAnswers.map(() => requestsPerEndpoint + 1),
  )
})
