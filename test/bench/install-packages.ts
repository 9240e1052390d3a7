// Installs the packages of this folder if they are missing or don't match its lock file. It runs on import.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'

const lock = new URL('package-lock.json', import.meta.url)
/** The lock file that the installed packages came from. */
const installedLock = new URL('node_modules/.evroute-lock.json', import.meta.url)

function isInstalled(): boolean {
  return existsSync(installedLock) && readFileSync(installedLock).equals(readFileSync(lock))
}

if (!isInstalled()) {
  process.stderr.write('Installing the packages of test/bench.\n')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: import.meta.dirname,
    // npm.cmd runs only in a shell.
    shell: process.platform === 'win32',
    // Stdout is for the figures.
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) throw new Error('npm ci failed in test/bench')
  copyFileSync(lock, installedLock)
}
