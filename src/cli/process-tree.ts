import { spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process'
import spawn from 'cross-spawn'

/** A program to start. */
export interface TreeCommand {
  /** A path, or a name to look up in PATH. No shell is used. On Windows, it may be a script such as `npm.cmd`. */
  readonly program: string
  readonly args: readonly string[]
  /** The complete environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdio: StdioOptions
}

/** Starts a program in a new process group, but not on Windows: there, a detached program would open a window. */
export function spawnTree({ program, args, env, stdio }: TreeCommand): ChildProcess {
  const detached = process.platform !== 'win32'
  return spawn(program, args, { env: { ...env }, stdio, detached })
}

/** Signals a program and the processes that it started; signal 0 only checks. Returns whether they still exist. */
export function signalTree(
  pid: number,
  signal: NodeJS.Signals | 0,
  platform = process.platform,
): boolean {
  if (platform === 'win32' && signal !== 0) {
    // The console itself sends Ctrl-C and close events to all its processes. Windows cannot suspend a process.
    if (signal !== 'SIGTERM' && signal !== 'SIGKILL') return true
    const args = ['/pid', String(pid), '/t', '/f']
    return spawnSync('taskkill', args, { stdio: 'ignore' }).status === 0
  }
  try {
    return process.kill(platform === 'win32' ? pid : -pid, signal)
  } catch {
    return false
  }
}
