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

/** A way to signal a program and the processes that it started. */
export type TreeSignal =
  | { readonly kind: 'kill'; readonly pid: number; readonly signal: NodeJS.Signals | 0 }
  | { readonly kind: 'run'; readonly program: string; readonly args: readonly string[] }
  | { readonly kind: 'none' }

/** Starts a program in a new process group, but not on Windows: there, a detached program would open a window. */
export function spawnTree({ program, args, env, stdio }: TreeCommand): ChildProcess {
  const detached = process.platform !== 'win32'
  return spawn(program, args, { env: { ...env }, stdio, detached })
}

/** Decides how to signal a process tree on a platform. Signal 0 only checks whether the tree exists. */
export function treeSignal(
  platform: NodeJS.Platform,
  pid: number,
  signal: NodeJS.Signals | 0,
): TreeSignal {
  if (platform !== 'win32') return { kind: 'kill', pid: -pid, signal }
  if (signal === 0) return { kind: 'kill', pid, signal }
  if (signal === 'SIGTERM' || signal === 'SIGKILL') {
    return { kind: 'run', program: 'taskkill', args: ['/pid', String(pid), '/t', '/f'] }
  }
  // The console itself sends Ctrl-C and close events to all its processes. Windows cannot suspend a process.
  return { kind: 'none' }
}

/** Signals a program and the processes that it started. Returns whether they still exist. */
export function signalTree(pid: number, signal: NodeJS.Signals | 0): boolean {
  const action = treeSignal(process.platform, pid, signal)
  switch (action.kind) {
    case 'none':
      return true
    case 'run':
      return spawnSync(action.program, action.args, { stdio: 'ignore' }).status === 0
    case 'kill':
      try {
        return process.kill(action.pid, action.signal)
      } catch {
        return false
      }
  }
}
