import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { columnsOf } from '../../src/model/index.ts'
import { CapturedStream, run } from '../support/io.ts'

const program = await createProgram({
  io: {
    stdin: (async function* () {})(),
    stdout: new CapturedStream(),
    stderr: new CapturedStream(),
    env: {},
    stop: new AbortController().signal,
    interrupted: new AbortController().signal,
  },
  argv: [],
  end: () => undefined,
  run: () => Promise.resolve(0),
})

function namesOf({ commands }: Command): readonly string[] {
  return commands
    .filter((command) => !['help', 'complete'].includes(command.name()))
    .flatMap((command) => [
      command.name(),
      ...namesOf(command).map((name) => `${command.name()} ${name}`),
    ])
}

describe.each(namesOf(program))('the help of every command, such as %s,', (name) => {
  const help = async (columns?: number): Promise<string> =>
    (await run([...name.split(' '), '--help'], columns === undefined ? {} : { columns })).stdout

  test.each([undefined, 200])('has at most 80 columns, on a terminal with %s', async (columns) => {
    for (const line of (await help(columns)).split('\n')) {
      expect(columnsOf(line), line).toBeLessThanOrEqual(80)
    }
  })

  test('fits 60 columns, except for its examples', async () => {
    const text = (await help(60)).replaceAll(/^(?:Examples?|Regulations):\n(?: .*\n)+/gm, '')
    for (const line of text.split('\n')) expect(columnsOf(line), line).toBeLessThanOrEqual(60)
  })

  test('says what the exit codes mean', async () => {
    expect(await help()).toContain('\nExit codes: ')
  })
})

describe.each(['send', 'replay', 'explain', 'listen', 'run', 'expect', 'check'])(
  'the help of %s',
  (command) => {
    const help = async (columns?: number): Promise<readonly string[]> =>
      (await run([command, '--help'], columns === undefined ? {} : { columns })).stdout.split('\n')

    test('has one line per option, below the name of its group', async () => {
      const lines = await help()
      const options = lines.filter((line) => /^ {2}(-\w, )?--/.test(line))
      const groups = lines.filter((line) => /^\S.*:$/.test(line))
      expect(options.length).toBeGreaterThan(4)
      expect(groups.length).toBeGreaterThan(2)
      for (const option of options) {
        const next = lines[lines.indexOf(option) + 1]
        expect(next, option).toMatch(/^$|^ {2}-/)
      }
    })

    test('breaks no word in the middle at 50 columns', async () => {
      const wide = new Set((await help(200)).join(' ').split(/\s+/))
      for (const word of (await help(50)).join(' ').split(/\s+/)) expect(wide).toContain(word)
    })
  },
)

test('help has examples with the name by which the program was called', async () => {
  const { stdout } = await run(['send', '--help'], { env: { npm_command: 'exec' } })
  expect(stdout).toContain('\n  npx evroute send track\n')
  const { stdout: all } = await run(['--help'], { env: { npm_command: 'exec' } })
  expect(all).toContain('Try `npx evroute demo`')
})

test('help names every command once, in a group', async () => {
  const { stdout } = await run(['--help'])
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name)
  expect(names).toContain('regulations')
  expect(names).toHaveLength(24)
  expect(new Set(names).size).toBe(24)
  expect(stdout.match(/^[A-Z][a-z ]+:$/gm)).toEqual([
    'Options:',
    'Send and receive:',
    'Test:',
    'Run a service:',
    'Users:',
    'Help:',
  ])
})
