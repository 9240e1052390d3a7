import { defineConfig } from 'vitest/config'

/** What makes a browser of its process: no other test can run there. */
const browserTests = 'test/**/browser-*.test.ts'

const strict = { lines: 95, statements: 95, functions: 95, branches: 95 }

export default defineConfig({
  test: {
    execArgv: ['--import', new URL('test/support/worker-typescript.js', import.meta.url).href],
    // Much of the time is spent waiting for processes and sockets: a core left free would stay idle.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'evroute',
          include: ['test/**/*.test.ts'],
          exclude: ['test/bench/**', browserTests],
          // A process and its modules serve many files: to load them anew for each takes a third of the time.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'browser', include: [browserTests] } },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html'],
      thresholds: {
        lines: 90,
        statements: 90,
        functions: 90,
        branches: 90,
        'src/model/**': strict,
        'src/client/**': strict,
        'src/router/**': strict,
        'src/webhook/**': strict,
        'src/delivery/**': strict,
      },
    },
  },
})
