import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What needs a process and modules to itself: it makes a browser of them, or shows how long ago something was
 * that is dated when its modules are loaded.
 */
const testsAlone = ['test/**/browser-*.test.ts', 'test/cli/commands/deliveries*.test.ts']

/** Tests that mostly wait, for example until other processes count as dead. */
const waitingTests = [
  'test/service/silent-database.test.ts',
  'test/service/shared-store.test.ts',
  'test/e2e/several-machines.test.ts',
  'test/crash/postgres/postgres-crash.test.ts',
]

/** A small file whose test takes long. Vitest would start it last, when the other workers have nothing left to do. */
const longTest = 'test/docs/reference.test.ts'

/**
 * Starts the tests that mostly wait early, and one after the other, so that other tests use the time. Those alone
 * come first, because a worker ends before each of them, and the next one loads all modules anew.
 */
class LongTestsEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const alone = sorted.filter(({ project }) => project.name === 'alone')
    const others = sorted.filter(({ project }) => project.name !== 'alone')
    const isWaiting = ({ moduleId }: TestSpecification): boolean =>
      waitingTests.some((path) => moduleId.endsWith(path))
    const isLong = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith(longTest)
    const order = others.filter((file) => !isWaiting(file) && !isLong(file))
    for (const [index, file] of others.filter(isWaiting).entries())
      order.splice(40 * index, 0, file)
    return [...alone, ...others.filter(isLong), ...order]
  }
}

const strict = { lines: 95, statements: 95, functions: 95, branches: 95 }

export default defineConfig({
  test: {
    execArgv: ['--import', new URL('test/support/worker-typescript.js', import.meta.url).href],
    // Much of the time is spent waiting for processes and sockets, so a worker per core leaves cores idle. Each
    // worker loads all modules, so many more cost more than they save.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    sequence: { sequencer: LongTestsEarly },
    // A busy machine must not fail a test: one that starts five processes took 30 s there.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A poll ends just before its test would.
    expect: { poll: { timeout: 55_000 } },
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
      // They run in a browser and in a thread, where V8 does not count for us.
      exclude: ['src/page/**', 'src/webhook/threads/sender-thread.ts'],
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
