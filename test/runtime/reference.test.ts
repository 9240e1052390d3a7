import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readReference } from '../../src/runtime/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const env = { KEY: 'no-secret', EMPTY: '' }

/** Reads a reference in a folder with files. */
async function read(text: string) {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'key'), 'no-secret\r\n')
  await writeFile(join(folder, 'lines'), 'a\n\n')
  await writeFile(join(folder, 'empty'), '\n')
  return readReference(text, { env, readFile: (path) => readFile(join(folder, path), 'utf8') })
}

test.each([
  ['no-secret', { kind: 'itself' }],
  ['', { kind: 'itself' }],
  ['env:KEY', { kind: 'read', value: 'no-secret' }],
  ['@key', { kind: 'read', value: 'no-secret' }],
  ['@lines', { kind: 'read', value: 'a\n' }],
])('%j is read as %j', async (text, referenced) => {
  expect(await read(text)).toEqual(referenced)
})

test.each([
  ['env:NOWHERE', 'the environment variable NOWHERE', 'it is not set'],
  ['env:EMPTY', 'the environment variable EMPTY', 'it is empty'],
  ['@empty', 'the file empty', 'it is empty'],
  ['@nowhere', 'the file nowhere', 'there is no such file'],
  ['@.', 'the file .', 'it is a folder'],
])('%j is unreadable because of %s: %s', async (text, named, because) => {
  expect(await read(text)).toMatchObject({ kind: 'unreadable', named, because })
})

test('a variable is unreadable for a different reason if no environment is given', async () => {
  const readNothing = () => Promise.resolve('')
  expect(await readReference('env:KEY', { env: undefined, readFile: readNothing })).toMatchObject({
    kind: 'unreadable',
    source: 'variable',
    because: 'no environment is given',
  })
})

test('the error of the system is the cause and the reason if a file cannot be read', async () => {
  const denied = Object.assign(new Error('EACCES'), { code: 'EACCES' })
  const sources = { env: {}, readFile: () => Promise.reject(denied) }
  expect(await readReference('@key', sources)).toMatchObject({
    because: 'permission denied',
    cause: denied,
  })
  const other = new Error('the disk is gone')
  expect(
    await readReference('@key', { env: {}, readFile: () => Promise.reject(other) }),
  ).toMatchObject({ because: 'the disk is gone', cause: other })
})
