import { spawn, type IPtyForkOptions } from '@lydell/node-pty'
import { onTestFinished } from 'vitest'
import { CapturedStream } from '../support/io.ts'

/** Runs a program on its own terminal until the test ends. Of this process's environment, it gets only PATH. */
export function onTerminal(
  program: string,
  argv: readonly string[],
  { env, ...options }: Omit<IPtyForkOptions, 'env'> & { env: Readonly<Record<string, string>> },
) {
  const screen = new CapturedStream()
  const { PATH = '' } = process.env
  const terminal = spawn(program, [...argv], {
    ...options,
    env: { PATH, TERM: 'xterm-256color', ...env },
  })
  terminal.onData((text) => screen.write(text))
  const ended = new Promise<number>((resolve) =>
    terminal.onExit(({ exitCode }) => resolve(exitCode)),
  )
  onTestFinished(() => terminal.kill('SIGKILL'))
  return { screen, ended, terminal }
}
