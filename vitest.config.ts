import { defineConfig } from 'vitest/config'

/**
 * What needs a process and modules to itself: it makes a browser of them, or shows how long ago something was
 * that is dated when its modules are loaded.
 */
const testsAlone = ['test/**/browser-*.test.ts', 'test/cli/commands/deliveries*.test.ts']

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
          exclude: ['test/bench/**', ...testsAlone],
          globalSetup: 'test/page/unpack-browser.ts',
          // A process and its modules serve many files: to load them anew for each takes a third of the time.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: testsAlone } },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // It runs in a browser, where V8 does not count for us.
      exclude: ['src/page/**'],
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
