import { execFile } from 'node:child_process'
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const script = resolve(import.meta.dirname, '../../src/prepare.js')
const built = 'dist/evroute.config.schema.json'
const build = `node -e "fs.mkdirSync('dist',{recursive:true});fs.writeFileSync('${built}','')"`

test('builds what is missing or older than a source, and nothing else', async () => {
  const cwd = await temporaryFolder()
  await mkdir(join(cwd, 'src/model'), { recursive: true })
  await writeFile(join(cwd, 'src/model/event.ts'), '')
  await writeFile(join(cwd, 'package.json'), JSON.stringify({ scripts: { build } }))
  const builds = async (): Promise<boolean> => {
    const { stdout } = await run(process.execPath, [script], { cwd })
    return stdout.includes('build')
  }
  const writtenLater = async (path: string): Promise<void> => {
    const { mtimeMs } = await stat(join(cwd, built))
    await utimes(join(cwd, path), mtimeMs / 1_000, mtimeMs / 1_000 + 1)
  }
  expect(await builds()).toBe(true)
  expect(await builds()).toBe(false)
  await rm(join(cwd, 'src/model/event.ts'))
  await writtenLater('src/model')
  expect(await builds()).toBe(true)
  await utimes(join(cwd, 'src/model'), 0, 0)
  expect(await builds()).toBe(false)
  await rm(join(cwd, built))
  expect(await builds()).toBe(true)
})
