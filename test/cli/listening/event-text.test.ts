import { describe, expect, test } from 'vitest'
import { plainStyle } from '../../../src/cli/output/style.ts'
import { eventText } from '../../../src/cli/listening/event-text.ts'
import { Receiver, SummaryMemory } from '../../../src/receiver/index.ts'
import { signBody } from '../../../src/webhook/index.ts'

const secret = 'not-a-real-secret'
const body = '{"type":"page","userId":"u_1"}'

/** The lines for a request with a signature, received over HTTP. */
async function linesFor(signature: string, verbose = false): Promise<readonly string[]> {
  await using receiver = new Receiver({ secret })
  const { url } = await receiver.start()
  const response = await fetch(url, { method: 'POST', body, headers: { 'x-signature': signature } })
  await response.text()
  const style = plainStyle
  const memory = new SummaryMemory()
  return eventText(receiver.events[0]!, {
    style,
    memory,
    verbose,
    columns: undefined,
    program: 'npx evroute',
  }).split('\n')
}

describe('a bad signature', () => {
  test('has the mistake and its fix below the line', async () => {
    const [line, why, ...rest] = await linesFor(signBody(`${body}\n`, secret))
    expect(line).toMatch(/✖ signature {2}200/)
    expect(why).toMatch(
      /^ {2}└ A line break at the end of the body was lost: .* that still has it\. Fix: Sign .*\.$/,
    )
    expect(rest).toEqual([''])
  })

  test('has only the reason if no known mistake explains it', async () => {
    const [, why] = await linesFor('0'.repeat(40))
    expect(why).toBe('  └ X-Signature was made with a different secret or over different bytes')
  })

  test('has a correct handler below its payload in verbose mode', async () => {
    const text = (await linesFor(signBody(body, secret).toUpperCase(), true)).join('\n')
    expect(text).toMatch(
      /"page"[^]*A correct handler for express; `npx evroute check --language` prints others:/,
    )
    expect(text).toMatch(/\n {6}app\.post\('\/webhooks'/)
    expect((await linesFor('0'.repeat(40), true)).join('\n')).not.toContain('express')
  })
})
