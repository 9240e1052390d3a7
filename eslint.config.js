import importX from 'eslint-plugin-import-x'
import tseslint from 'typescript-eslint'

/**
 * The rooms of src/, lowest first. A room imports rooms of lower levels only, never one of its own
 * level, and enters them through their index.ts.
 */
const levels = [
  ['model'],
  ['runtime'],
  ['threads'],
  ['http', 'router', 'importer', 'match'],
  ['client', 'webhook', 'lists'],
  ['delivery'],
  ['intake'],
  ['audience', 'privacy', 'archive'],
  // Above the rooms whose ports the engines implement.
  ['store'],
  ['pipeline', 'tracking-api', 'admin-api', 'receiver', 'handler-check'],
  ['service'],
  ['testing', 'cli'],
]

/** Packages that only some rooms may know. */
const packageHomes = {
  express: ['tracking-api', 'admin-api'],
  undici: ['webhook'],
  commander: ['cli'],
  '@bomb.sh/tab': ['cli'],
  'prom-client': ['admin-api'],
  zod: ['admin-api', 'service', 'cli/agents'],
  '@modelcontextprotocol/server': ['cli/agents'],
  '@modelcontextprotocol/server/stdio': ['cli/agents'],
  '@opentelemetry/api': ['service'],
  chalk: ['cli/output'],
  ora: ['cli/output'],
}

const rooms = levels.flat()
const alternatives = (names) => names.join('|')

/** What a room may not import, whether by a statement or at run time. */
function importRules(room, isHome = (home) => home === room) {
  const level = levels.findIndex((names) => names.includes(room))
  const forbidden = levels
    .slice(level)
    .flat()
    .filter((name) => name !== room)
  const patterns = [
    {
      regex: `^(\\.\\./)+(${alternatives(rooms)})/(?!index\\.ts$)`,
      message: 'A room is entered through its index.ts.',
    },
  ]
  if (forbidden.length > 0) {
    patterns.push({
      regex: `^(\\.\\./)+(${alternatives(forbidden)})/`,
      message: `${room} may only import rooms of lower levels; see the table in eslint.config.js.`,
    })
  }
  const paths = forbiddenPackages(isHome)
  return {
    'no-restricted-imports': ['error', { patterns, paths }],
    'no-restricted-syntax': [
      'error',
      ...(room === 'runtime' ? [] : [currentDate]),
      ...patterns.map(({ regex, message }) => dynamicImport(regex, message)),
      ...paths.map(({ name, message }) => dynamicImport(`^${name}$`, message)),
    ],
  }
}

/** The same rule for `import()`; a slash cannot stand in a selector's regular expression. */
function dynamicImport(regex, message) {
  const pattern = regex.replaceAll('/', '\\u002F')
  return { selector: `ImportExpression[source.value=/${pattern}/]`, message }
}

function forbiddenPackages(isHome) {
  const packages = Object.entries(packageHomes)
    .filter(([, homes]) => !homes.some(isHome))
    .map(([name, homes]) => ({ name, message: `${name} belongs to ${homes.join(', ')}.` }))
  return [...packages, { name: 'node:process', message: 'Take it from runtime or cli io.' }]
}

const currentDate = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: 'Take the time from the Runtime bundle.',
}

const ambient = {
  time: [
    { object: 'Date', property: 'now', message: 'Take the time from the Runtime bundle.' },
    { object: 'performance', property: 'now', message: 'Take the time from the Runtime bundle.' },
  ],
  random: [{ object: 'Math', property: 'random', message: 'Take it from the Runtime bundle.' }],
  environment: [{ object: 'process', property: 'env', message: 'Take it from runtime or cli io.' }],
}

const timers = ['setTimeout', 'setInterval', 'setImmediate'].map((name) => ({
  name,
  message: "Schedule with the Runtime bundle's clock, or with systemClock where time is real.",
}))

const noAmbient = (...lists) => ['error', unsure, ...lists.flat()]

const unsure = {
  object: 'URL',
  property: 'canParse',
  message: 'Use parseUrl: Node 20 refuses some URLs here once V8 has optimised the caller.',
}

const budgets = {
  'max-lines': ['error', { max: 400 }],
  'max-lines-per-function': ['error', { max: 70 }],
  'max-params': ['error', 3],
  complexity: ['error', 12],
}

/** Demands a doc comment on each exported function. TypeDoc checks other exports, but can't tell functions from methods. */
const documentedFunctions = {
  create: ({ sourceCode, report }) => ({
    'ExportNamedDeclaration > FunctionDeclaration'({ parent }) {
      const statements = parent.parent.body
      const before = statements[statements.indexOf(parent) - 1]
      const isOverloaded = before?.declaration?.type === 'TSDeclareFunction'
      const comment = sourceCode.getCommentsBefore(parent).at(-1)
      if (isOverloaded || comment?.value.startsWith('*') === true) return
      report({ node: parent, message: 'Say in a doc comment what the function does.' })
    },
  }),
}

export default tseslint.config(
  { ignores: ['dist', 'coverage', 'node_modules'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts', '.tsx', '.js'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts', '.tsx'] },
    },
    rules: {
      ...budgets,
      'no-console': 'error',
      'import-x/no-cycle': 'error',
      'import-x/no-default-export': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/max-params': ['error', { max: 3 }],
      // Numbers print the same in every locale; forbidding them only adds String() noise.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Arrow functions that end in a call read better without braces around it.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['src/**/*.ts'],
    plugins: { evroute: { rules: { 'documented-functions': documentedFunctions } } },
    rules: {
      'evroute/documented-functions': 'error',
      'no-restricted-properties': noAmbient(ambient.time, ambient.random, ambient.environment),
      'no-restricted-globals': [
        'error',
        ...timers,
        { name: 'globalThis', message: 'Name what is meant, so that these rules can see it.' },
      ],
      'no-restricted-imports': ['error', { paths: forbiddenPackages(() => false) }],
      'no-restricted-syntax': ['error', currentDate],
    },
  },
  ...rooms.map((room) => ({
    files: [`src/${room}/**/*.ts`],
    rules: importRules(room),
  })),
  ...['cli/output', 'cli/agents'].map((folder) => ({
    files: [`src/${folder}/**/*.ts`],
    rules: importRules('cli', (home) => home === 'cli' || home === folder),
  })),
  {
    files: ['src/runtime/**/*.ts'],
    rules: { 'no-restricted-properties': 'off', 'no-restricted-globals': 'off' },
  },
  {
    files: ['src/cli/**/*.ts'],
    rules: {
      'no-restricted-properties': noAmbient(ambient.time, ambient.random),
      // A spinner turns in real time, whatever clock the deliveries follow.
      'no-restricted-globals': 'off',
    },
  },
  {
    // It runs in a browser, which has none of the other rooms: their types, curl commands and the words for failures are all that it may know.
    files: ['src/page/**/*.ts', 'src/page/**/*.tsx'],
    rules: {
      'evroute/documented-functions': 'off',
      'no-restricted-globals': 'off',
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(\\.\\./)+(?!model/(?:curl-command|delivery|failure-text)\\.ts$)(${alternatives(rooms)})/`,
              allowTypeImports: true,
              message:
                'The page imports curl commands, the rules of retries, the words for failures, and only types of other rooms.',
            },
          ],
        },
      ],
      // What a component shows is one expression; markup has more lines than logic.
      'max-lines-per-function': ['error', { max: 90 }],
    },
  },
  {
    files: ['src/page/vite.config.ts', 'vitest.config.ts'],
    // Their readers take the default export.
    rules: { 'import-x/no-default-export': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // A describe block is as long as its cases.
      'max-lines-per-function': 'off',
      // Expecting a rejection or reading a fixture's shape needs the assertion.
      '@typescript-eslint/no-non-null-assertion': 'off',
      'no-restricted-properties': [
        'error',
        { object: 'vi', property: 'mock', message: 'Use the real thing.' },
        ...ambient.time,
      ],
    },
  },
)
