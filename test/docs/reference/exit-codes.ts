import ts from 'typescript'
import { exitCodeOf, exitCodes, gravest, type ExitCode } from '../../../src/cli/exit-code.ts'
import { EvrouteError, type ErrorCode } from '../../../src/model/index.ts'
import { code, generatedNotice, page, table } from './markdown.ts'
import { typeNamed, variableNamed, type Sources } from './sources.ts'

/** The exit codes, from the table of the command line and its comments. */
export function exitCodesPage(sources: Sources): string {
  const codes = Object.values(exitCodes)
  const order = inOrderOfGravity(codes.filter((each) => each !== exitCodes.ok))
  return page([
    generatedNotice,
    '# What does an exit code mean?',
    table(['code', 'meaning', 'errors'], codesTable(sources)),
    `If several apply, the first of ${order.join(', ')} wins. \`listen\` and \`serve\` end with 0 on the first Ctrl-C; a second Ctrl-C ends any command at once. When its terminal closes (SIGHUP), a command ends at once with 129. Without a terminal, such as under nohup, it continues. On SIGHUP, \`serve\` reloads its configuration, and \`run\` passes the signal on. SIGQUIT ends a command with 131. If the reader of stdout leaves, as in \`| head -1\`, a command ends with 0 if it only shows data or has sent everything. Otherwise, it ends with 130 and says what is unfinished. \`run\` ends with the exit code of its command if that is not 0.`,
    'With `--json`, an error is one JSON object on stderr: `{"error":{"code","message","hint"}}`. Its `code` is one of the errors above, or `internal`. For an invalid configuration, it also has `problems`.',
  ])
}

/** A row for each exit code: the code, its meaning, and the errors that have it. */
export function codesTable(sources: Sources): readonly (readonly string[])[] {
  const { checker } = sources
  const type = checker.getTypeOfSymbol(variableNamed(sources, 'src/cli/exit-code.ts', 'exitCodes'))
  const errors = errorCodes(sources)
  return type.getProperties().map((property) => {
    const number = exitCodes[property.name as keyof typeof exitCodes]
    const meaning = ts.displayPartsToString(property.getDocumentationComment(checker))
    const causes = errors.filter((each) => exitCodeOfCode(each) === number)
    return [String(number), meaning, causes.map(code).join(', ')]
  })
}

function errorCodes(sources: Sources): readonly ErrorCode[] {
  const type = typeNamed(sources, 'src/model/error.ts', 'ErrorCode')
  return (type as ts.UnionType).types.map(
    (each) => (each as ts.StringLiteralType).value as ErrorCode,
  )
}

function exitCodeOfCode(errorCode: ErrorCode): ExitCode {
  return exitCodeOf(new EvrouteError({ code: errorCode, message: '' }))
}

function inOrderOfGravity(codes: readonly number[]): readonly number[] {
  if (codes.length === 0) return []
  const first = gravest(codes)
  return [first, ...inOrderOfGravity(codes.filter((each) => each !== first))]
}
