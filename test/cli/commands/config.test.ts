import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { columnsOf } from '../../../src/model/index.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const document = {
  admin: { token: 'env:TOKEN' },
  network: { allow: ['127.0.0.1'] },
  sources: [{ id: 'website', writeKeys: ['@write-key'] }],
  destinations: [
    {
      id: 'crm',
      type: 'Webhooks',
      sources: ['website'],
      endpoints: [{ url: 'http://127.0.0.1:4100/' }],
      sharedSecret: 'crm-no-secret',
    },
  ],
}

const env = { TOKEN: 'admin-token-no-secret' }

async function written(content: unknown): Promise<string> {
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  await writeFile(path, JSON.stringify(content))
  await writeFile(join(folder, 'write-key'), 'wk_no-secret\n')
  return path
}

describe('config', () => {
  test('shows the settings in force and their source, with masked secrets', async () => {
    const path = await written(document)
    const { code, stdout, stderr } = await run(['config', '--config', path], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/))
    expect(rows).toContainEqual(['listen.port', '4000', 'default'])
    expect(rows).toContainEqual(['admin.token', '********', 'env:TOKEN'])
    expect(rows).toContainEqual(['network.allow', '["127.0.0.1"]', 'file'])
    expect(rows).toContainEqual(['limits.eventsPerSecond', 'none', 'default'])
    expect(rows).toContainEqual(['sources[0].writeKeys[0]', '********', '@write-key'])
    expect(rows).toContainEqual(['destinations[0].sharedSecret', '********', 'file'])
    expect(stdout).not.toContain('no-secret')
    const columns = stdout
      .split('\n')
      .map((line) => line.search(/(default|file|env:TOKEN|@write-key)$/))
    // The column of sources is aligned in every row below the header.
    expect(new Set(columns.slice(1, -1)).size).toBe(1)
  })

  test('prints records', async () => {
    const path = await written(document)
    const { code, records, stdout } = await run(['config', '--config', path, '--json'], { env })
    expect(code).toBe(0)
    expect(records).toContainEqual({
      v: 1,
      kind: 'setting',
      path: 'admin.token',
      value: '********',
      origin: 'env:TOKEN',
    })
    expect(records.every(({ kind }) => kind === 'setting')).toBe(true)
    expect(stdout).not.toContain('no-secret')
  })

  test('ends with 2 and names every problem', async () => {
    const path = await written({ ...document, listen: { port: 70_000 } })
    const { code, stdout, stderr } = await run(['config', '--config', path])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      `evroute: Cannot use ${path}: 2 settings are wrong
  admin.token: Cannot read the environment variable TOKEN: it is not set. Set the variable, or write a value or @file instead.
  listen.port: Cannot use 70000: it must be a whole number from 0 to 65535
`,
    )
  })

  test('prints a record for each problem, and one error, for programs', async () => {
    const path = await written({ ...document, listen: { port: 70_000 } })
    const { code, records, stderr } = await run(['config', '--config', path, '--json'])
    expect(code).toBe(2)
    expect(records).toEqual([
      {
        v: 1,
        kind: 'problem',
        path: 'admin.token',
        message: 'Cannot read the environment variable TOKEN: it is not set',
        hint: 'Set the variable, or write a value or @file instead.',
      },
      {
        v: 1,
        kind: 'problem',
        path: 'listen.port',
        message: 'Cannot use 70000: it must be a whole number from 0 to 65535',
        hint: null,
      },
    ])
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'invalid_setting',
        message: `Cannot use ${path}: 2 settings are wrong`,
        hint: null,
        problems: records.map(({ path: setting, message, hint }) => ({
          path: setting,
          message,
          hint,
        })),
      },
    })
  })

  test('refuses a folder, and suggests a file in it', async () => {
    const folder = await temporaryFolder()
    expect(await run(['config', '--config', folder])).toMatchObject({
      code: 7,
      stderr: `evroute: Cannot read ${folder}: it is a folder. Name a file in it, such as ${join(folder, 'evroute.config.json')}.\n`,
    })
  })

  test.each([60, 40])(
    'fits each row into a terminal of %i columns, and shortens nothing in a pipe',
    async (columns) => {
      const path = await written({ ...document, store: `sqlite:./${'long-'.repeat(20)}.db` })
      const argv = ['config', '--config', path]
      const { stdout } = await run(argv, { env, isTTY: true, columns })
      const rows = stripVTControlCharacters(stdout).trimEnd().split('\n')
      expect(Math.max(...rows.map(columnsOf))).toBeLessThanOrEqual(columns)
      expect(rows.find((row) => row.startsWith('store'))).toContain('…')
      expect(rows.some((row) => /^desti…\S*\.url +http:/.test(row))).toBe(true)
      expect((await run(argv, { env })).stdout).not.toContain('…')
    },
  )

  test('strips control characters', async () => {
    const path = await written({ ...document, store: 'sqlite:/tmp/\u001b[2Ja.db' })
    const { stdout } = await run(['config', '--config', path], { env })
    expect(stdout).toContain('sqlite:/tmp/a.db')
    expect(stdout).not.toContain('\u001b')
  })

  test('is coloured on request', async () => {
    const path = await written(document)
    const shown = (argv: readonly string[]) =>
      run(['config', '--config', path, ...argv], { env: { ...env, FORCE_COLOR: '1' } })
    expect((await shown([])).stdout).toContain('\u001b[36mlisten.host')
    expect((await shown(['--no-color'])).stdout).not.toContain('\u001b')
  })

  test('names the command that creates a configuration if there is none', async () => {
    const path = join(await temporaryFolder(), 'evroute.config.json')
    expect(await run(['config', '--config', path])).toMatchObject({
      code: 7,
      stderr: `evroute: Cannot read ${path}: there is no such file. Create one with \`evroute init\`, or name a different file.\n`,
    })
  })
})
