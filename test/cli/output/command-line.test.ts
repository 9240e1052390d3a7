import { expect, test } from 'vitest'
import { commandLine, programName } from '../../../src/cli/output/command-line.ts'

test('can be pasted', () => {
  const argv = ['replay', "it's here.ndjson", '--to', 'http://127.0.0.1:4100/?a=1&b=2']
  expect(commandLine(argv, { env: {} })).toBe(
    String.raw`evroute replay 'it'\''s here.ndjson' --to 'http://127.0.0.1:4100/?a=1&b=2'`,
  )
})

test('repeats no secret, but the reference to one', () => {
  const argv = ['--secret', 'not-a-real-secret', '--write-key=not-a-real-key', '--secret', '@key']
  expect(commandLine(argv, { env: {} })).toBe('evroute --secret ... --write-key=... --secret @key')
})

test('names npx where npx started it', () => {
  expect(programName({ env: { npm_command: 'exec' } })).toBe('npx evroute')
  expect(programName({ env: { npm_command: 'run-script' } })).toBe('evroute')
})
