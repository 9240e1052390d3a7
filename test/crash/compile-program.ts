import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Programs of threads, which nothing imports. */
const threadPrograms = [
  'src/store/threaded/store-thread.ts',
  'src/webhook/threads/sender-thread.ts',
].map((path) => join(root, path))

const compilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2023,
  rewriteRelativeImportExtensions: true,
}

/**
 * Compiles a program and everything that it imports into a folder, because a program that is restarted many
 * times must not be compiled each time. Types are not checked.
 *
 * @returns the path of the compiled program
 */
export async function compileProgram(program: URL, folder: string): Promise<string> {
  const start = fileURLToPath(program)
  const paths = new Set([start, ...threadPrograms])
  // The loop adds to the set until every import has been followed.
  for (const path of paths) {
    const text = await readFile(path, 'utf8')
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      if (fileName.startsWith('.')) paths.add(join(dirname(path), fileName))
    }
    const { outputText } = ts.transpileModule(text, { compilerOptions })
    const target = compiledPath(path, folder)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, outputText)
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return compiledPath(start, folder)
}

function compiledPath(path: string, folder: string): string {
  return join(folder, relative(root, path).replace(/\.ts$/, '.js'))
}
