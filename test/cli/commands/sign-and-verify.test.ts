import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** No UTF-8, and a line break at the end that belongs to the body. */
const body = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d, 0x0a])
const signature = createHmac('sha1', 'k').update(body).digest('hex')

describe('sign', () => {
  test('signs the exact bytes of stdin', async () => {
    expect(await run(['sign', '--secret', 'k'], { stdin: body })).toMatchObject({
      code: 0,
      stdout: `${signature}\n`,
      stderr: '',
    })
  })

  test('signs the exact bytes of a file', async () => {
    const file = join(await temporaryFolder(), 'body.json')
    await writeFile(file, body)
    const { code, records } = await run(['sign', file, '--json'], { env: { EVROUTE_SECRET: 'k' } })
    expect(code).toBe(0)
    expect(records).toEqual([{ v: 1, kind: 'signature', signature }])
  })

  test('needs a secret, and a file that is there and no larger than 64 MB', async () => {
    expect(await run(['sign'])).toMatchObject({
      code: 2,
      stderr:
        'evroute: Cannot sign or verify without a secret. Pass --secret or set EVROUTE_SECRET.\n',
    })
    expect(await run(['sign', '/nowhere/body', '--secret', 'k'])).toMatchObject({ code: 7 })
    expect(await run(['sign', '/dev/zero', '--secret', 'k'])).toMatchObject({
      code: 7,
      stderr:
        'evroute: Cannot read /dev/zero: it has more than 67108864 bytes. A webhook has 1 MB at the most.\n',
    })
  })

  test.each([['sign'], ['verify', '--signature', signature]])(
    'says that %s waits for input, and ends with 130 when it is stopped',
    async (...argv) => {
      const endless: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
      }
      const command = start([...argv, '--secret', 'k'], { stdin: endless, stdinIsTerminal: true })
      await command.stderr.matching(/Reading from the terminal/)
      command.stop()
      expect(await command.ended).toMatchObject({ code: 130, stdout: '' })
    },
  )
})

describe('verify', () => {
  const verify = (given: readonly string[], stdin: Uint8Array = body) =>
    run(['verify', '--secret', 'k', ...given], { stdin })

  test('needs a signature', async () => {
    expect(await verify([])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining("required option '--signature <hex>'") as string,
    })
  })

  test('accepts the signature of the exact bytes', async () => {
    expect(await verify(['--signature', signature])).toMatchObject({ code: 0, stdout: 'valid\n' })
    const { records } = await verify(['--signature', signature, '--json'])
    expect(records).toEqual([{ v: 1, kind: 'verification', valid: true, reason: null }])
  })

  test.each([
    {
      given: 'the final line break missing',
      argv: ['--signature', signature],
      stdin: body.subarray(0, -1),
      reason: 'mismatch',
      words: 'another secret, or other bytes',
    },
    {
      given: 'a signature of other bytes',
      argv: ['--signature', 'f'.repeat(40)],
      stdin: body,
      reason: 'mismatch',
      words: 'another secret, or other bytes',
    },
    {
      given: 'an upper-case signature',
      argv: ['--signature', signature.toUpperCase()],
      stdin: body,
      reason: 'malformed',
      words: '40 lower-case hexadecimal digits',
    },
    {
      given: 'an empty signature',
      argv: ['--signature', ''],
      stdin: body,
      reason: 'missing',
      words: 'the signature is empty',
    },
  ])('ends with 6 and the reason for $given', async ({ argv, stdin, reason, words }) => {
    const text = await verify(argv, stdin)
    expect(text.code).toBe(6)
    expect(text.stdout).toMatch(/^invalid: .*\n$/)
    expect(text.stdout).toContain(words)
    const { code, records } = await verify([...argv, '--json'], stdin)
    expect(code).toBe(6)
    expect(records).toEqual([{ v: 1, kind: 'verification', valid: false, reason }])
  })
})
