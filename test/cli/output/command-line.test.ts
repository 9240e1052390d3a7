import { expect, test } from 'vitest'
import { asCalled, commandLine, programName } from '../../../src/cli/output/command-line.ts'

test('a command line can be pasted', () => {
  const argv = ['replay', "it's here.ndjson", '--to', 'http://127.0.0.1:4100/hook']
  expect(commandLine(argv, { env: {} })).toBe(
    String.raw`evroute replay 'it'\''s here.ndjson' --to http://127.0.0.1:4100/hook`,
  )
})

test('a command line contains no secret, but the reference to one', () => {
  const argv = ['--secret', 'not-a-real-secret', '--write-key=not-a-real-key', '--secret', '@key']
  expect(commandLine(argv, { env: {} })).toBe('evroute --secret ... --write-key=... --secret @key')
})

test.each([
  [['-H', 'Authorization: not-a-real-token'], '-H ...'],
  [['--store', 'postgres://u:not-a-real-password@db/x'], '--store ...'],
  [['--store=env:STORE'], '--store=env:STORE'],
  [['--to', 'http://127.0.0.1:4100/?key=not-a-real-key'], "--to 'http://127.0.0.1:4100/?…'"],
])('a command line leaves out what may be secret in %j', (argv, words) => {
  expect(commandLine(argv, { env: {} })).toBe(`evroute ${words}`)
})

test('the name of the program contains npx if npx started it', () => {
  expect(programName({ env: { npm_command: 'exec' } })).toBe('npx evroute')
  expect(programName({ env: { npm_command: 'run-script' } })).toBe('evroute')
})

test('only suggested commands name evroute as it was called', () => {
  const text = 'evroute: Cannot check. Try `evroute check <url>`.'
  expect(asCalled(text, { env: { npm_command: 'exec' } })).toBe(
    'evroute: Cannot check. Try `npx evroute check <url>`.',
  )
  expect(asCalled(text, { env: {} })).toBe(text)
})
