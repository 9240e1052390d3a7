import { execFile } from 'node:child_process'
import { cp, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const copied = ['src', 'eslint.config.js', 'tsconfig.json', 'package.json']

/** Files that break a rule of the architecture, beside one of the project that keeps them all. */
const planted = {
  'src/router/upward.ts': `import { Client } from '../client/index.ts'

export const created = new Client('wk_example')
`,
  'src/router/inside.ts': `import { limits } from '../model/limits.ts'

export const { endpointsMax } = limits
`,
  'src/router/there.ts': `import { back } from './back.ts'

export const there = (): unknown => back
`,
  'src/router/back.ts': `import { there } from './there.ts'

export const back = (): unknown => there
`,
  'src/router/later.ts': `export const later = import('../client/index.ts')
`,
  'src/router/later-express.ts': `export const later = import('express')
`,
  'src/router/global-now.ts': `export const nowMs = globalThis.Date.now()
`,
  'src/router/wait.ts': `setTimeout(() => undefined, 1)
`,
  'src/router/environment.ts': `import { env } from 'node:process'

export const path = env['PATH']
`,
  'src/router/now.ts': `export const nowMs = Date.now()
`,
  'src/router/express.ts': `import express from 'express'

export const app = express()
`,
} as const

type PlantedPath = keyof typeof planted

interface LintResult {
  readonly filePath: string
  readonly messages: readonly { readonly ruleId: string | null }[]
}

let folder: string
let rulesBroken: ReadonlyMap<string, readonly (string | null)[]>

beforeAll(async () => {
  folder = await mkdtemp(join(await realpath(tmpdir()), 'evroute-architecture-'))
  for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const files = Object.entries(planted)
  for (const [path, text] of files) await writeFile(join(folder, path), text)
  rulesBroken = await lint(['src/router/route.ts', ...Object.keys(planted)])
}, 120_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The rules that each file breaks, by its path. */
async function lint(paths: readonly string[]): Promise<typeof rulesBroken> {
  const eslint = join(folder, 'node_modules/eslint/bin/eslint.js')
  const output = await new Promise<string>((resolve) => {
    const args = [eslint, '--format', 'json', ...paths]
    // It ends with 1 because it found something; what it found is on stdout.
    execFile(process.execPath, args, { cwd: folder }, (_error, stdout) => resolve(stdout))
  })
  const results = JSON.parse(output) as readonly LintResult[]
  return new Map(
    results.map(({ filePath, messages }) => [
      relative(folder, filePath),
      messages.map(({ ruleId }) => ruleId),
    ]),
  )
}

describe('the lint rules', () => {
  test.each<[string, PlantedPath, string]>([
    ['an import of a higher room', 'src/router/upward.ts', 'no-restricted-imports'],
    ['an import past the door of a room', 'src/router/inside.ts', 'no-restricted-imports'],
    ['a package in a room that is not its home', 'src/router/express.ts', 'no-restricted-imports'],
    ['a circle of imports', 'src/router/there.ts', 'import-x/no-cycle'],
    ['the other half of the circle', 'src/router/back.ts', 'import-x/no-cycle'],
    ['an import of a higher room at run time', 'src/router/later.ts', 'no-restricted-syntax'],
    ['such an import of a package', 'src/router/later-express.ts', 'no-restricted-syntax'],
    ['a look around the other rules', 'src/router/global-now.ts', 'no-restricted-globals'],
    ["a timer that is not the clock's", 'src/router/wait.ts', 'no-restricted-globals'],
    ['a look at the environment', 'src/router/environment.ts', 'no-restricted-imports'],
    ["a look at the system's clock", 'src/router/now.ts', 'no-restricted-properties'],
  ])('find %s', (_name, path, rule) => {
    expect(rulesBroken.get(path)).toEqual([rule])
  })

  test('find nothing in a file that keeps them', () => {
    expect(rulesBroken.get('src/router/route.ts')).toEqual([])
  })
})
