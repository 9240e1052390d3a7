import ts from 'typescript'
import { pathInProject, type Sources } from './sources.ts'

/** A field of a record. */
export interface RecordField {
  readonly name: string
  /** Its type, in a syntax like TypeScript's. */
  readonly type: string
  /** The doc comment of its declaration; empty without one. */
  readonly meaning: string
  /** Whether some records of the kind lack it. */
  readonly isOptional: boolean
}

/** An expression in the code that makes records of one kind. */
export interface RecordSource {
  readonly kind: string
  /** The file, from the root of the project. */
  readonly path: string
  readonly fields: readonly RecordField[]
}

/**
 * Finds every object that the code makes as a record. It has a `kind`, and is the argument or the result of a function
 * whose name contains `record`, or is used as a bag of unknown values.
 */
export function recordSources(sources: Sources): readonly RecordSource[] {
  const reader = new FieldReader(sources.checker, namesInOrder(sources))
  return sources.files.flatMap((file) => {
    const found: RecordSource[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isObjectLiteralExpression(node)) found.push(...reader.recordsOf(node))
      ts.forEachChild(node, visit)
    }
    visit(file)
    return found
  })
}

/**
 * Lists the names that src writes next to each other: those of each union, list and object. The compiler's own order of
 * the members of a union depends on which file it reads first.
 */
function namesInOrder({ checker, files }: Sources): readonly (readonly string[])[] {
  const unions: (readonly string[])[] = []
  const others: (readonly string[])[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isUnionTypeNode(node)) unions.push(namesOfType(node, checker))
    else if (ts.isArrayLiteralExpression(node)) {
      others.push(node.elements.flatMap((each) => (ts.isStringLiteral(each) ? [each.text] : [])))
    } else if (ts.isObjectLiteralExpression(node)) {
      others.push(node.properties.flatMap(({ name }) => (name ? [nameText(name)] : [])))
    }
    ts.forEachChild(node, visit)
  }
  for (const file of files) visit(file)
  return [unions, others].flatMap((lists) => lists.sort((a, b) => a.length - b.length))
}

function namesOfType(node: ts.TypeNode, checker: ts.TypeChecker): readonly string[] {
  if (ts.isUnionTypeNode(node)) return node.types.flatMap((each) => namesOfType(each, checker))
  if (ts.isParenthesizedTypeNode(node)) return namesOfType(node.type, checker)
  if (ts.isLiteralTypeNode(node)) return ts.isStringLiteral(node.literal) ? [node.literal.text] : []
  const alias = checker.getTypeFromTypeNode(node).aliasSymbol?.declarations?.[0]
  const isUnion =
    alias !== undefined && ts.isTypeAliasDeclaration(alias) && ts.isUnionTypeNode(alias.type)
  return isUnion ? namesOfType(alias.type, checker) : []
}

function nameText(name: ts.PropertyName): string {
  return ts.isStringLiteral(name) ? name.text : name.getText()
}

const makesRecords = /^(?!read)\w*record/i

/** The name of the function that an expression is passed to, or that returns it; empty if there is none. */
function userOf({ parent }: ts.Node): string {
  if (ts.isParenthesizedExpression(parent)) return userOf(parent)
  if (ts.isCallExpression(parent)) return parent.expression.getText()
  const returning = ts.isReturnStatement(parent) ? parent.parent.parent : undefined
  return returning !== undefined && ts.isFunctionDeclaration(returning)
    ? nameText(returning.name!)
    : ''
}

class FieldReader {
  readonly #checker: ts.TypeChecker
  readonly #namesInOrder: readonly (readonly string[])[]

  constructor(checker: ts.TypeChecker, names: readonly (readonly string[])[]) {
    this.#checker = checker
    this.#namesInOrder = names
  }

  recordsOf(literal: ts.ObjectLiteralExpression): readonly RecordSource[] {
    const kinds = literal.properties.flatMap((property) =>
      property.name?.getText() === 'kind' ? this.#textsOf(property) : [],
    )
    if (kinds.length === 0 || !this.#isRecord(literal)) return []
    const fields = this.#fieldsOf(literal).filter(({ name }) => name !== 'kind')
    const path = pathInProject(literal.getSourceFile())
    return kinds.map((kind) => ({ kind, path, fields }))
  }

  #textsOf(property: ts.ObjectLiteralElementLike): readonly string[] {
    const symbol = property.name && this.#checker.getSymbolAtLocation(property.name)
    const type = ts.isPropertyAssignment(property)
      ? this.#checker.getTypeAtLocation(property.initializer)
      : symbol && this.#checker.getTypeOfSymbol(symbol)
    const types = type?.isUnion() === true ? type.types : [type]
    return types.flatMap((each) => (each?.isStringLiteral() === true ? [each.value] : []))
  }

  #isRecord(literal: ts.ObjectLiteralExpression): boolean {
    if (makesRecords.test(userOf(literal))) return true
    const expected = this.#checker.getContextualType(literal)
    const values = expected?.getStringIndexType()
    return values !== undefined && (values.flags & ts.TypeFlags.Unknown) !== 0
  }

  #fieldsOf(expression: ts.Expression): readonly RecordField[] {
    const bare = withoutAssertions(expression)
    if (ts.isObjectLiteralExpression(bare)) {
      return merged(bare.properties.flatMap((property) => this.#fieldsOfProperty(property)))
    }
    if (ts.isConditionalExpression(bare)) {
      const branches = [bare.whenTrue, bare.whenFalse].map((each) => this.#fieldsOf(each))
      return alternatives(branches)
    }
    if (ts.isBinaryExpression(bare)) return this.#fieldsOf(bare.right)
    const returned = this.#returnedBy(bare)
    if (returned.length > 0) return alternatives(returned.map((each) => this.#fieldsOf(each)))
    return this.#fieldsOfType(this.#checker.getTypeAtLocation(bare))
  }

  #fieldsOfProperty(property: ts.ObjectLiteralElementLike): readonly RecordField[] {
    if (ts.isSpreadAssignment(property)) return this.#fieldsOf(property.expression)
    const name = property.name.getText()
    if (ts.isShorthandPropertyAssignment(property)) {
      const value = this.#checker.getShorthandAssignmentValueSymbol(property)
      return [
        this.#field(name, this.#checker.getTypeAtLocation(property.name), this.#origin(value)),
      ]
    }
    if (!ts.isPropertyAssignment(property)) return []
    const { initializer } = property
    const declared = this.#checker.getContextualType(property.parent)?.getProperty(name)
    const inner = this.#innerFields(initializer)
    if (inner !== undefined) {
      return [{ name, type: inner, meaning: this.#meaningOf(declared), isOptional: false }]
    }
    const origin = ts.isPropertyAccessExpression(initializer)
      ? this.#checker.getSymbolAtLocation(initializer.name)
      : this.#origin(this.#checker.getSymbolAtLocation(initializer))
    const field = this.#field(name, this.#checker.getTypeAtLocation(initializer), origin)
    return [{ ...field, meaning: field.meaning || this.#meaningOf(declared) }]
  }

  /** The fields of a record within a record, in braces. */
  #innerFields(expression: ts.Expression): string | undefined {
    const type = this.#checker.getNonNullableType(this.#checker.getTypeAtLocation(expression))
    const element = this.#checker.isArrayType(type)
      ? this.#checker.getTypeArguments(type as ts.TypeReference)[0]
      : type
    if (element?.getStringIndexType() === undefined) return undefined
    const maker =
      ts.isCallExpression(expression) &&
      ts.isPropertyAccessExpression(expression.expression) &&
      expression.expression.name.text === 'map'
        ? expression.arguments[0]
        : expression
    const made = maker === undefined ? [] : this.#returnedBy(maker)
    if (made.length === 0) return undefined
    const names = alternatives(made.map((each) => this.#fieldsOf(each)))
      .map(nameOf)
      .join(', ')
    return element === type ? `{ ${names} }` : `list of { ${names} }`
  }

  /** The expressions that a function returns. The function itself or a call of it is given. */
  #returnedBy(expression: ts.Expression): readonly ts.Expression[] {
    const callee = ts.isCallExpression(expression) ? expression.expression : expression
    if (ts.isArrowFunction(callee)) return returnsOf(callee)
    if (!ts.isIdentifier(callee)) return []
    const declaration = this.#declarationOf(callee)
    if (declaration === undefined) return []
    if (ts.isFunctionDeclaration(declaration)) return returnsOf(declaration)
    const isConstant =
      ts.isVariableDeclaration(declaration) && declaration.initializer !== undefined
    return isConstant && ts.isObjectLiteralExpression(declaration.initializer)
      ? [declaration.initializer]
      : []
  }

  #declarationOf(name: ts.Identifier): ts.Declaration | undefined {
    const symbol = this.#checker.getSymbolAtLocation(name)
    const isAlias = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0
    return (isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol)?.declarations?.[0]
  }

  /** The property that a variable was destructured from; otherwise the variable itself. */
  #origin(variable: ts.Symbol | undefined): ts.Symbol | undefined {
    const declaration = variable?.declarations?.[0]
    if (declaration === undefined || !ts.isBindingElement(declaration)) return variable
    const property = (declaration.propertyName ?? declaration.name).getText()
    const taken = this.#checker.getTypeAtLocation(declaration.parent)
    return this.#checker.getPropertyOfType(taken, property)
  }

  #fieldsOfType(type: ts.Type): readonly RecordField[] {
    const shown = this.#checker.isArrayType(type)
      ? this.#checker.getTypeArguments(type as ts.TypeReference)[0]
      : type
    return (shown === undefined ? [] : this.#propertiesOf(shown)).map((property) =>
      this.#field(property.name, this.#checker.getTypeOfSymbol(property), property),
    )
  }

  #field(name: string, type: ts.Type, origin: ts.Symbol | undefined): RecordField {
    const isOptional = origin !== undefined && (origin.flags & ts.SymbolFlags.Optional) !== 0
    return { name, type: this.#text(type), meaning: this.#meaningOf(origin), isOptional }
  }

  /** Returns the doc comment of a property that src declares; empty without one. */
  #meaningOf(property: ts.Symbol | undefined): string {
    const isOurs = property?.declarations?.some((each) =>
      pathInProject(each.getSourceFile()).startsWith('src/'),
    )
    if (property === undefined || isOurs !== true) return ''
    const documentation = property.getDocumentationComment(this.#checker)
    return ts.displayPartsToString(documentation).replaceAll(/\{@link (\w+)\}/g, '`$1`')
  }

  /** Returns the members of a union as the code lists them. */
  #membersOf({ types }: ts.UnionType): readonly ts.Type[] {
    const positionOf = this.#positionsOf(
      types.flatMap((each) => (each.isStringLiteral() ? each.value : [])),
    )
    const position = (type: ts.Type): number =>
      type.isStringLiteral() ? positionOf(type.value) : Infinity
    return [...types].sort((a, b) => compare(position(a), position(b)))
  }

  /** Returns the properties of a type as the code lists them. Those that it takes from other types stay together. */
  #propertiesOf(type: ts.Type): readonly ts.Symbol[] {
    const properties = type.getProperties()
    const positionOf = this.#positionsOf(properties.map(({ name }) => name))
    const parentOf = (property: ts.Symbol): ts.Node | undefined =>
      property.declarations?.[0]?.parent
    const parents = [...new Set(properties.map(parentOf))]
    const position = (property: ts.Symbol): number =>
      property.declarations?.[0]?.pos ?? positionOf(property.name)
    return [...properties].sort(
      (a, b) =>
        parents.indexOf(parentOf(a)) - parents.indexOf(parentOf(b)) ||
        compare(position(a), position(b)),
    )
  }

  /** Returns the position of each name in the shortest list with all of them; Infinity if there is none. */
  #positionsOf(names: readonly string[]): (name: string) => number {
    const order = this.#namesInOrder.find((list) => names.every((name) => list.includes(name)))
    return (name) => order?.indexOf(name) ?? Infinity
  }

  #text(type: ts.Type): string {
    const alias = type.aliasSymbol?.name
    if (alias === 'JsonValue' || (type.flags & ts.TypeFlags.Unknown) !== 0) return 'any JSON'
    if (type.isUnion()) {
      const parts = [...new Set(this.#membersOf(type).map((each) => this.#text(each)))]
      const isFlag = parts.includes('true') && parts.includes('false')
      const others = parts.filter(
        (each) => each !== 'undefined' && !(isFlag && /^(true|false)$/.test(each)),
      )
      const named = others.filter((each) => each !== 'null')
      return [
        ...(isFlag ? ['boolean'] : []),
        ...named,
        ...others.filter((each) => each === 'null'),
      ].join(' | ')
    }
    if (type.isStringLiteral()) return JSON.stringify(type.value)
    if (this.#checker.isArrayType(type)) {
      const [element] = this.#checker.getTypeArguments(type as ts.TypeReference)
      return `list of ${element === undefined ? 'unknown' : this.#text(element)}`
    }
    const properties = this.#propertiesOf(type)
    const isObject = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0
    if (!isObject) return this.#checker.typeToString(type)
    if (properties.length === 0) return 'object'
    return `{ ${properties.map(({ name }) => name).join(', ')} }`
  }
}

function withoutAssertions(expression: ts.Expression): ts.Expression {
  const isWrapper =
    ts.isParenthesizedExpression(expression) ||
    ts.isAsExpression(expression) ||
    ts.isSatisfiesExpression(expression)
  return isWrapper ? withoutAssertions(expression.expression) : expression
}

function nameOf({ name, isOptional }: RecordField): string {
  return isOptional ? `${name}?` : name
}

/** Later fields replace earlier ones of the same name. */
function merged(fields: readonly RecordField[]): readonly RecordField[] {
  return [...new Map(fields.map((field) => [field.name, field])).values()]
}

/** The fields of records that are alternatives. A field that one of them lacks is optional. */
export function alternatives(records: readonly (readonly RecordField[])[]): readonly RecordField[] {
  const fields = records.flat()
  return merged(fields).map((field) => ({
    ...field,
    type: eitherType(fields.filter(({ name }) => name === field.name).map(({ type }) => type)),
    isOptional:
      field.isOptional ||
      !records.every((record) => record.some(({ name }) => name === field.name)),
  }))
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a - b
}

/** Joins the types that a field has in different records. */
function eitherType(types: readonly string[]): string {
  const parts = [...new Set(types.flatMap((type) => type.split(' | ')))]
  return [
    ...parts.filter((part) => part !== 'null'),
    ...parts.filter((part) => part === 'null'),
  ].join(' | ')
}

function returnsOf({ body }: ts.ArrowFunction | ts.FunctionDeclaration): readonly ts.Expression[] {
  if (body === undefined) return []
  if (!ts.isBlock(body)) return [body]
  const found: ts.Expression[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isReturnStatement(node) && node.expression !== undefined) found.push(node.expression)
    if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit)
  }
  ts.forEachChild(body, visit)
  return found
}
