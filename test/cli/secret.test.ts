import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/io.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const asking = ['audit', '--api', 'http://127.0.0.1:9', '--token']

test('the error of a secret names its flag', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'empty')
  await writeFile(file, '\n')
  const refusal = async (argv: readonly string[]) => {
    const { code, stderr } = await run(argv)
    return [code, stderr]
  }
  expect(await refusal([...asking, `@${file}`])).toEqual([
    2,
    `evroute: Cannot read --token from the file ${file}: it is empty. Check the file or variable that it comes from.\n`,
  ])
  expect(await refusal(['sign', '--secret', `@${folder}`])).toEqual([
    7,
    `evroute: Cannot read --secret from the file ${folder}: it is a folder. If the value itself begins with @, put it in a variable and pass env:NAME.\n`,
  ])
  expect(await refusal([...asking, 'env:NOWHERE'])).toEqual([
    2,
    'evroute: Cannot read --token from the environment variable NOWHERE: it is not set. Set the variable, or pass the value itself or @file.\n',
  ])
})

test('the error of an empty secret does not suggest leaving out a required flag', async () => {
  const { code, stderr } = await run(['check', 'http://127.0.0.1:1/', '--secret', ''])
  expect([code, stderr]).toEqual([
    2,
    'evroute: Cannot use an empty --secret. Check the variable that it comes from.\n',
  ])
})
