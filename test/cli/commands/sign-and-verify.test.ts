import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Not UTF-8, with a final line break that belongs to the body. */
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

  test('requires a secret, and a file that exists and has at most 64 MB', async () => {
    expect(await run(['sign'])).toMatchObject({
      code: 2,
      stderr:
        'evroute: Cannot sign or verify without a secret. Pass --secret or set EVROUTE_SECRET.\n',
    })
    expect(await run(['sign', '/nowhere/body', '--secret', 'k'])).toMatchObject({ code: 7 })
    expect(await run(['sign', '/dev/zero', '--secret', 'k'])).toMatchObject({
      code: 7,
      stderr:
        'evroute: Cannot read /dev/zero: it has more than 67108864 bytes. Check that this is the right file: a webhook is at most 1 MB.\n',
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

  test('requires a signature', async () => {
    expect(await verify([])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--signature <hex> is missing') as string,
    })
  })

  test('accepts the signature of the exact bytes', async () => {
    expect(await verify(['--signature', signature])).toMatchObject({ code: 0, stdout: 'valid\n' })
    const { records } = await verify(['--signature', signature, '--json'])
    expect(records).toEqual([
      { v: 1, kind: 'verification', valid: true, reason: null, diagnosis: null },
    ])
  })

  test.each([
    {
      given: 'the final line break missing',
      argv: ['--signature', signature],
      stdin: body.subarray(0, -1),
      reason: 'mismatch',
      words: 'a different secret, or different bytes',
      mistake: 'newline_lost',
    },
    {
      given: 'a signature of other bytes',
      argv: ['--signature', 'f'.repeat(40)],
      stdin: body,
      reason: 'mismatch',
      words: 'a different secret, or different bytes',
      mistake: null,
    },
    {
      given: 'an upper-case signature',
      argv: ['--signature', signature.toUpperCase()],
      stdin: body,
      reason: 'malformed',
      words: '40 lowercase hexadecimal digits',
      mistake: 'upper_case',
    },
    {
      given: 'an empty signature',
      argv: ['--signature', ''],
      stdin: body,
      reason: 'missing',
      words: 'the signature is empty',
      mistake: null,
    },
  ])('ends with 6 and the reason for $given', async ({ argv, stdin, reason, words, mistake }) => {
    const text = await verify(argv, stdin)
    expect(text.code).toBe(6)
    expect(text.stdout).toMatch(/^invalid: .*\n$/)
    expect(text.stdout).toContain(words)
    const { code, records } = await verify([...argv, '--json'], stdin)
    expect(code).toBe(6)
    expect(records).toMatchObject([{ v: 1, kind: 'verification', valid: false, reason }])
    expect(records[0]).toHaveProperty(
      'diagnosis',
      mistake === null ? null : expect.objectContaining({ mistake }),
    )
  })

  const json = '{"type": "page", "userId": "u_1"}'
  const stringified = createHmac('sha1', 'k').update('{"type":"page","userId":"u_1"}').digest('hex')
  const reSerialised = (...argv: string[]) =>
    verify(['--signature', stringified, ...argv], Buffer.from(json))

  test('names the mistake and its fix on stderr, or in the record', async () => {
    const message =
      'The body was re-serialised: the signature matches JSON.stringify(JSON.parse(body))'
    const { stdout, stderr } = await reSerialised()
    expect(stdout).toMatch(/^invalid: .*\n$/)
    expect(stderr).toMatch(/^The body was re-serialised: .*\nFix: Sign the bytes .*\.\n$/)
    expect(stderr.startsWith(`${message}\n`)).toBe(true)
    const recorded = await reSerialised('--json')
    expect(recorded.stderr).toBe('')
    expect(recorded.records[0]).toMatchObject({
      diagnosis: { mistake: 're_serialised', message, fix: expect.any(String) as string },
    })
  })

  test('says that no known mistake explains a wrong signature, and nothing about a missing or malformed one', async () => {
    expect((await verify(['--signature', 'f'.repeat(40)])).stderr).toBe(
      'No known mistake explains the mismatch. Compare the secret and the bytes on both sides.\n',
    )
    expect((await verify(['--signature', ''])).stderr).toBe('')
    // The form alone explains why it is invalid.
    expect((await verify(['--signature', 'abc'])).stderr).toBe('')
  })

  test('prints a handler in the given language, or for express with -v', async () => {
    expect((await reSerialised('-v')).stderr).toMatch(/\n\nimport .*[^]*express\.raw\(/)
    const python = await reSerialised('--language', 'python', '-v', '--json')
    expect(python.stderr).toMatch(/^\nimport hashlib\n[^]*compare_digest/)
    expect(python.records[0]).toMatchObject({ valid: false })
    const valid = await verify(['--signature', signature, '-v'])
    expect(valid).toMatchObject({ code: 0, stdout: 'valid\n', stderr: '' })
    expect(await reSerialised('--language', 'cobol')).toMatchObject({
      code: 2,
      stderr:
        'evroute: Cannot print a handler for "cobol". It must be one of node, express, fastify, hono, go, python, php, ruby.\n',
    })
  })

  test('tries the secrets of the destinations of --config', async () => {
    const file = join(await temporaryFolder(), 'evroute.config.json')
    const endpoints = [{ url: 'https://hooks.example.com' }]
    const destination = { type: 'Webhooks', sources: ['web'], endpoints }
    const configuration = {
      sources: [{ id: 'web', writeKeys: ['not-a-real-key'] }],
      destinations: [
        { ...destination, id: 'crm', sharedSecret: 'env:CRM_SECRET' },
        {
          ...destination,
          id: 'mail',
          sharedSecret: 'k',
          standardWebhooks: { secrets: ['not-a-real-standard-secret'] },
        },
      ],
    }
    await writeFile(file, JSON.stringify(configuration))
    const diagnosed = async (key: string) => {
      const header = createHmac('sha1', key).update(body).digest('hex')
      const argv = ['verify', '--secret', 'k', '--signature', header, '--config', file]
      return run(argv, { stdin: body, env: { CRM_SECRET: 'not-a-real-crm-secret' } })
    }
    const crm = await diagnosed('not-a-real-crm-secret')
    expect(crm.stderr).toContain('made with the secret of the destination crm\n')
    expect(crm.stderr).not.toContain('not-a-real')
    const mail = await diagnosed('not-a-real-standard-secret')
    expect(mail.stderr).toContain('made with the secret of the destination mail\n')
    const unset = await verify(['--signature', signature, '--config', file])
    expect(unset).toMatchObject({ code: 2, stdout: '' })
    expect(unset.stderr).toContain('CRM_SECRET')
  })
})
