import { readFile } from 'node:fs/promises'
import ts from 'typescript'

const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }

/** Lets a Node that cannot read TypeScript run the sources as they are; types are not checked. */
export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context)
  const text = await readFile(new URL(url), 'utf8')
  const { outputText } = ts.transpileModule(text, { compilerOptions })
  return { format: 'module', source: outputText, shortCircuit: true }
}
