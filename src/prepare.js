// Builds unless `dist` is newer than everything that it is made from. Tests and checks run this. npm runs it after an
// installation and before the first `npx evroute` in a clone, where it shows nothing of a build of half a minute.
import { execSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const sources = ['package.json', 'package-lock.json', 'tsconfig.json', 'src'].concat(
  readdirSync('src', { recursive: true }).map((name) => join('src', name)),
)
// The build writes this file last, so an interrupted build is repeated.
const builtAtMs = writtenAtMs('dist/evroute.config.schema.json')
if (sources.some((path) => writtenAtMs(path) > builtAtMs)) {
  execSync('npm run build', { stdio: 'inherit' })
}

function writtenAtMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
