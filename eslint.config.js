import importX from 'eslint-plugin-import-x'
import tseslint from 'typescript-eslint'

/**
 * The rooms of src/, lowest first. A room imports rooms of lower levels only, never one of its own
 * level, and enters them through their index.ts.
 */
const levels = [
  ['model'],
  ['runtime'],
  ['http', 'router', 'importer', 'match'],
  ['client', 'webhook'],
  ['delivery'],
  ['store', 'intake'],
  ['audience', 'privacy', 'archive'],
  ['tracking-api', 'admin-api', 'receiver'],
  ['service'],
  ['testing', 'cli'],
]

/** Packages that only some rooms may know. */
const packageHomes = {
  express: ['tracking-api', 'admin-api', 'receiver'],
  undici: ['webhook', 'client', 'receiver'],
  commander: ['cli'],
  '@bomb.sh/tab': ['cli'],
  chalk: ['cli/output'],
  ora: ['cli/output'],
}

const rooms = levels.flat()
const alternatives = (names) => names.join('|')

function importRules(room) {
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
  return { patterns, paths: forbiddenPackages((home) => home === room) }
}

function forbiddenPackages(isHome) {
  return Object.entries(packageHomes)
    .filter(([, homes]) => !homes.some(isHome))
    .map(([name, homes]) => ({ name, message: `${name} belongs to ${homes.join(', ')}.` }))
}

const ambient = {
  time: [
    { object: 'Date', property: 'now', message: 'Take the time from the Runtime bundle.' },
    { object: 'performance', property: 'now', message: 'Take the time from the Runtime bundle.' },
  ],
  random: [{ object: 'Math', property: 'random', message: 'Take it from the Runtime bundle.' }],
  environment: [{ object: 'process', property: 'env', message: 'Take it from runtime or cli io.' }],
}

const noAmbient = (...lists) => ['error', ...lists.flat()]

const budgets = {
  'max-lines': ['error', { max: 400 }],
  'max-lines-per-function': ['error', { max: 70 }],
  'max-params': ['error', 3],
  complexity: ['error', 12],
}

export default tseslint.config(
  { ignores: ['dist', 'coverage', 'node_modules'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/extensions': ['.ts', '.js'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
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
    rules: {
      'no-restricted-properties': noAmbient(ambient.time, ambient.random, ambient.environment),
      'no-restricted-imports': ['error', { paths: forbiddenPackages(() => false) }],
      'no-restricted-syntax': [
        'error',
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'Take the time from the Runtime bundle.',
        },
      ],
    },
  },
  ...rooms.map((room) => ({
    files: [`src/${room}/**/*.ts`],
    rules: { 'no-restricted-imports': ['error', importRules(room)] },
  })),
  {
    files: ['src/cli/output/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          ...importRules('cli'),
          paths: forbiddenPackages((home) => home === 'cli' || home === 'cli/output'),
        },
      ],
    },
  },
  {
    files: ['src/runtime/**/*.ts'],
    rules: { 'no-restricted-properties': 'off', 'no-restricted-syntax': 'off' },
  },
  {
    files: ['src/cli/**/*.ts'],
    rules: { 'no-restricted-properties': noAmbient(ambient.time, ambient.random) },
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
  {
    files: ['vitest.config.ts'],
    // vitest reads the default export.
    rules: { 'import-x/no-default-export': 'off' },
  },
)
