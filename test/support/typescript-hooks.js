import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'

/** Compiled files, because loading the compiler takes longer than most of the programs take to run. */
const cacheFolder = new URL('../../node_modules/.cache/evroute-typescript/', import.meta.url)

/** Lets Node run TypeScript files directly, without checking types. */
export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context)
  const text = await readFile(new URL(url), 'utf8')
  return { format: 'module', source: await compiled(text), shortCircuit: true }
}

async function compiled(text) {
  const name = createHash('sha256').update(text).digest('hex')
  const file = new URL(`${name}.js`, cacheFolder)
  try {
    return await readFile(file, 'utf8')
  } catch {
    const outputText = await compile(text)
    await keep(file, outputText)
    return outputText
  }
}

async function compile(text) {
  const { default: ts } = await import('typescript')
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }
  return ts.transpileModule(text, { compilerOptions }).outputText
}

/** Writes to a temporary name first, so that a concurrent reader never sees half a file. */
async function keep(file, text) {
  const unfinished = new URL(`${file.href}.${process.pid}`)
  try {
    await mkdir(cacheFolder, { recursive: true })
    await writeFile(unfinished, text)
    await rename(unfinished, file)
  } catch {
    // Without a writable folder, files are compiled again each time.
  }
}
