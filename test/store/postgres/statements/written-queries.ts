import { relative } from 'node:path'
import ts from 'typescript'
import type { ValueKind } from './recorded-statements.ts'

/** A query in the code: an object with a statement and its values, or an `Sql`. */
export interface WrittenQuery {
  /** The file and line. */
  readonly location: string
  /** Matches the statement. Parts that are not constant match anything. */
  readonly pattern: RegExp
  /** The kinds of values that the code reads, by column. */
  readonly reads: Map<string, ReadonlySet<ValueKind>>
}

/** An object, a template, or a call of `raw`. */
type Literal = ts.ObjectLiteralExpression | ts.TaggedTemplateExpression | ts.CallExpression

/** The functions that run a query and have its row type as a type parameter. */
const readers = ['rows', 'rowsOf', 'firstRow']

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
}

/** Finds the queries in files, with the columns that the code reads from each. */
export function writtenQueries(
  roots: readonly string[],
  isWanted: (path: string) => boolean,
): readonly WrittenQuery[] {
  const program = ts.createProgram(roots, options)
  const files = program.getSourceFiles().filter(({ fileName }) => isWanted(fileName))
  const code = new Code(program.getTypeChecker(), files)
  const found = new Map<ts.Node, WrittenQuery>()
  code.each(ts.isObjectLiteralExpression, (literal) => {
    const names = literal.properties.map((property) => property.name?.getText())
    if (names.includes('sql') && names.includes('values')) found.set(literal, code.queryOf(literal))
  })
  code.each(ts.isCallExpression, (call) => {
    const [argument] = call.arguments
    const [type] = call.typeArguments ?? []
    if (argument === undefined || ![...readers, 'run'].includes(nameOf(call))) return
    for (const literal of code.literalsOf(argument)) {
      if (!ts.isObjectLiteralExpression(literal) && !found.has(literal)) {
        found.set(literal, code.queryOf(literal))
      }
      if (type === undefined) continue
      for (const [name, kinds] of code.columnsOf(type)) found.get(literal)?.reads.set(name, kinds)
    }
  })
  return [...found.values()]
}

/** The name of the function or method that is called. */
function nameOf({ expression }: ts.CallExpression): string {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText()
}

/** Follows values through the code of the files. */
class Code {
  readonly #checker: ts.TypeChecker
  readonly #files: readonly ts.SourceFile[]

  constructor(checker: ts.TypeChecker, files: readonly ts.SourceFile[]) {
    this.#checker = checker
    this.#files = files
  }

  /** Visits all nodes of a kind. */
  each<Node extends ts.Node>(
    is: (node: ts.Node) => node is Node,
    visit: (node: Node) => void,
  ): void {
    const go = (node: ts.Node): void => {
      if (is(node)) visit(node)
      ts.forEachChild(node, go)
    }
    this.#files.forEach(go)
  }

  queryOf(literal: Literal): WrittenQuery {
    const file = literal.getSourceFile()
    const { line } = file.getLineAndCharacterOfPosition(literal.getStart())
    const isObject = ts.isObjectLiteralExpression(literal)
    const text = this.#patternOf(isObject ? valueOf(literal, 'sql') : literal)
    return {
      location: `${relative(process.cwd(), file.fileName)}:${line + 1}`,
      pattern: new RegExp(`^${text}$`),
      reads: new Map(),
    }
  }

  /** Returns the queries that an expression can evaluate to. */
  literalsOf(expression: ts.Node | undefined): readonly Literal[] {
    if (expression === undefined) return []
    if (ts.isTaggedTemplateExpression(expression)) return [expression]
    if (ts.isObjectLiteralExpression(expression)) {
      const spread = expression.properties.find(ts.isSpreadAssignment)
      return spread === undefined ? [expression] : this.literalsOf(spread.expression)
    }
    if (ts.isCallExpression(expression)) {
      if (nameOf(expression) === 'raw') return [expression]
      const declared = this.#checker.getResolvedSignature(expression)?.declaration
      return declared === undefined
        ? []
        : returnsOf(declared).flatMap((each) => this.literalsOf(each))
    }
    if (ts.isIdentifier(expression)) return this.#literalsOfName(expression)
    return []
  }

  /** Returns the kinds of values in a row type, by column. */
  columnsOf(type: ts.TypeNode): ReadonlyMap<string, ReadonlySet<ValueKind>> {
    const properties = this.#checker.getTypeFromTypeNode(type).getProperties()
    return new Map(
      properties.map((property) => {
        const value = this.#checker.getTypeOfSymbol(property)
        const parts = value.isUnion() ? value.types : [value]
        return [property.name, new Set(parts.flatMap((part) => this.#kindOf(part)))]
      }),
    )
  }

  #kindOf(type: ts.Type): readonly ValueKind[] {
    const { flags } = type
    if (flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) return []
    if (flags & ts.TypeFlags.Unknown) return ['string', 'number', 'boolean']
    if (flags & ts.TypeFlags.StringLike) return ['string']
    if (flags & ts.TypeFlags.NumberLike) return ['number']
    if (flags & ts.TypeFlags.BooleanLike) return ['boolean']
    return this.#checker.isArrayType(type) ? ['array'] : ['object']
  }

  #literalsOfName(name: ts.Identifier): readonly Literal[] {
    const declaration = this.#declarationOf(name)
    if (declaration === undefined) return []
    if (ts.isParameter(declaration)) return this.#argumentsOf(declaration)
    return ts.isVariableDeclaration(declaration) ? this.literalsOf(declaration.initializer) : []
  }

  /** Returns the parameter or variable that a name refers to, even inside a destructuring. */
  #declarationOf(name: ts.Identifier): ts.Declaration | undefined {
    const isShort = ts.isShorthandPropertyAssignment(name.parent)
    const symbol = isShort
      ? this.#checker.getShorthandAssignmentValueSymbol(name.parent)
      : this.#checker.getSymbolAtLocation(name)
    const isAlias = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0
    const [declaration] =
      (isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol)?.declarations ?? []
    if (declaration === undefined || !ts.isBindingElement(declaration)) return declaration
    const isRest = declaration.dotDotDotToken !== undefined
    return isRest ? declaration.parent.parent : undefined
  }

  #argumentsOf(parameter: ts.ParameterDeclaration): readonly Literal[] {
    const found: Literal[] = []
    const index = parameter.parent.parameters.indexOf(parameter)
    this.each(ts.isCallExpression, (call) => {
      const declared = this.#checker.getResolvedSignature(call)?.declaration
      if (declared === parameter.parent) found.push(...this.literalsOf(call.arguments[index]))
    })
    return found
  }

  #templateOf(template: ts.TemplateLiteral, part: (expression: ts.Node) => string): string {
    if (ts.isNoSubstitutionTemplateLiteral(template)) return escape(template.text)
    const { head, templateSpans: spans } = template
    const texts = spans.map((span) => part(span.expression) + escape(span.literal.text))
    return escape(head.text) + texts.join('')
  }

  /** Returns the pattern of a nested `Sql`, or of the parameter for a value. */
  #partOf(expression: ts.Node): string {
    const isPart = this.#checker.getTypeAtLocation(expression).getSymbol()?.name === 'Sql'
    return isPart ? this.#patternOf(expression) : '\\$\\d+'
  }

  #patternOf(expression: ts.Node | undefined): string {
    if (expression === undefined) return '[^]*'
    if (ts.isStringLiteralLike(expression)) return escape(expression.text)
    if (ts.isTaggedTemplateExpression(expression)) {
      const { template } = expression
      return this.#templateOf(template, (part) => this.#partOf(part))
    }
    if (ts.isTemplateExpression(expression)) {
      return this.#templateOf(expression, (part) => this.#patternOf(part))
    }
    if (ts.isCallExpression(expression) && nameOf(expression) === 'raw') {
      return this.#patternOf(expression.arguments[0])
    }
    if (ts.isIdentifier(expression)) {
      const declaration = this.#declarationOf(expression)
      const isConstant = declaration !== undefined && ts.isVariableDeclaration(declaration)
      if (isConstant) return this.#patternOf(declaration.initializer)
    }
    if (ts.isConditionalExpression(expression)) {
      const { whenTrue, whenFalse } = expression
      return `(?:${this.#patternOf(whenTrue)}|${this.#patternOf(whenFalse)})`
    }
    return '[^]*'
  }
}

function valueOf(literal: ts.ObjectLiteralExpression, name: string): ts.Node | undefined {
  const property = literal.properties.find((each) => each.name?.getText() === name)
  if (property === undefined) return undefined
  return ts.isPropertyAssignment(property) ? property.initializer : property.name
}

/** The expressions that a function returns. */
function returnsOf(declared: ts.Node): readonly ts.Expression[] {
  const found: ts.Expression[] = []
  const go = (node: ts.Node): void => {
    if (ts.isReturnStatement(node) && node.expression !== undefined) found.push(node.expression)
    ts.forEachChild(node, go)
  }
  go(declared)
  return found
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
