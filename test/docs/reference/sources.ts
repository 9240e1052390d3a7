import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** The code of the project as the compiler sees it. */
export interface Sources {
  readonly checker: ts.TypeChecker
  /** The files of `src`. */
  readonly files: readonly ts.SourceFile[]
}

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Reads and links `src`. It takes a few seconds. */
export function readSources(): Sources {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, (path) =>
    ts.sys.readFile(path),
  ) as {
    readonly config: { readonly compilerOptions: object }
  }
  const { fileNames, options } = ts.parseJsonConfigFileContent(
    { compilerOptions: config.compilerOptions, include: ['src'] },
    ts.sys,
    root,
  )
  const program = ts.createProgram(fileNames, options)
  const files = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(`${root}src/`))
  return { checker: program.getTypeChecker(), files }
}

/** The path of a file from the root of the project. */
export function pathInProject({ fileName }: ts.SourceFile): string {
  return relative(root, fileName)
}

/** An exported variable. */
export function variableNamed(sources: Sources, path: string, name: string): ts.Symbol {
  return exportOf(sources, path, name)
}

/** An exported type. */
export function typeNamed(sources: Sources, path: string, name: string): ts.Type {
  return sources.checker.getDeclaredTypeOfSymbol(exportOf(sources, path, name))
}

function exportOf({ checker, files }: Sources, path: string, name: string): ts.Symbol {
  const file = files.find(({ fileName }) => fileName.endsWith(`/${path}`))
  const module = file && checker.getSymbolAtLocation(file)
  const found = module && checker.getExportsOfModule(module).find((each) => each.name === name)
  if (found === undefined) throw new Error(`Cannot document ${name}: ${path} does not export it`)
  return found
}
