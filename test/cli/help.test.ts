import { describe, expect, test } from 'vitest'
import { run } from '../support/io.ts'

describe.each(['send', 'replay', 'explain', 'listen', 'run', 'expect', 'check'])(
  'the help of %s',
  (command) => {
    const help = async (columns?: number): Promise<readonly string[]> =>
      (await run([command, '--help'], columns === undefined ? {} : { columns })).stdout.split('\n')

    test('has at most 80 columns, however wide the terminal is', async () => {
      for (const line of await help(200)) expect(line.length, line).toBeLessThanOrEqual(80)
    })

    test('has one line for an option, below the name of its group', async () => {
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

test('has examples as the program was called', async () => {
  const { stdout } = await run(['send', '--help'], { env: { npm_command: 'exec' } })
  expect(stdout).toContain('\n  npx evroute send track\n')
})

test('names every command once, in a group', async () => {
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
