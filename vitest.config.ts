import { defineConfig } from 'vitest/config'

const strict = { lines: 95, statements: 95, functions: 95, branches: 95 }

export default defineConfig({
  test: {
    execArgv: ['--import', new URL('test/support/worker-typescript.js', import.meta.url).href],
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**'],
    // Much of the time is spent waiting for processes and sockets: a core left free would stay idle.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
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
