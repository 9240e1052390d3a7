import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Whether this process may read the terminal. The system would stop a background process that tried. */
export function isInForeground(): boolean {
  const groups = groupsOfProcess()
  return groups === undefined || ownsTerminal(groups)
}

/** Two process groups: this process's own, and the terminal's foreground group. */
export type ProcessGroups = readonly [own: number, terminal: number]

/** Without a foreground group there is no job control, so nothing is stopped. */
export function ownsTerminal([own, terminal]: ProcessGroups): boolean {
  return terminal <= 0 || own === terminal
}

/** Parses the groups from Linux's `/proc/self/stat`. The program name in it may contain any characters. */
export function groupsInStat(stat: string): ProcessGroups | undefined {
  const [, , own, , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return asGroups([own, terminal])
}

/** Parses the groups from the output of `ps -o pgid=,tpgid=`. */
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
