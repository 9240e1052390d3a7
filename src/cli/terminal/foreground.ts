import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Whether the terminal is this process's to read. One that was started with `&` would be stopped by the
 * system if it tried.
 */
export function isInForeground(): boolean {
  const groups = groupsOfProcess()
  return groups === undefined || ownsTerminal(groups)
}

/** Two numbers: the process's group, and the group that the terminal listens to. */
export type ProcessGroups = readonly [own: number, terminal: number]

/** Without a group that the terminal listens to there is no job control, and nobody is stopped. */
export function ownsTerminal([own, terminal]: ProcessGroups): boolean {
  return terminal <= 0 || own === terminal
}

/** The groups in the text of Linux's `/proc/self/stat`, in which a program's name can have any signs. */
export function groupsInStat(stat: string): ProcessGroups | undefined {
  const [, , own, , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return asGroups([own, terminal])
}

/** The groups that `ps -o pgid=,tpgid=` prints. */
export function groupsInList(list: string): ProcessGroups | undefined {
  const [own, terminal] = list.trim().split(/\s+/)
  return asGroups([own, terminal])
}

function groupsOfProcess(): ProcessGroups | undefined {
  if (process.platform === 'win32') return undefined
  if (process.platform === 'linux') return groupsInStat(readFileSync('/proc/self/stat', 'utf8'))
  const { stdout, error } = spawnSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], {
    encoding: 'utf8',
  })
  return error === undefined ? groupsInList(stdout) : undefined
}

function asGroups(texts: readonly (string | undefined)[]): ProcessGroups | undefined {
  const [own = NaN, terminal = NaN] = texts.map((text) => parseInt(text ?? '', 10))
  return Number.isInteger(own) && Number.isInteger(terminal) ? [own, terminal] : undefined
}
