import type { Io } from '../io.ts'

/** The name to call evroute by: `npx evroute` if npx started it. */
export function programName({ env }: Pick<Io, 'env'>): string {
  return env['npm_command'] === 'exec' ? 'npx evroute' : 'evroute'
}

/** A word for a POSIX shell, quoted if it has to be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

const secretFlags = new Set(['--secret', '--write-key'])
/** References are no secrets. */
const reference = /^(?:@|env:)/

/** A command line that can be pasted. Literal secrets in it become `...`. */
export function commandLine(argv: readonly string[], io: Pick<Io, 'env'>): string {
  const words = argv.map((word, index) => {
    const [flag = '', value] = word.split(/=(.*)/s)
    if (value !== undefined && secretFlags.has(flag) && !reference.test(value)) return `${flag}=...`
    const isSecret = secretFlags.has(argv[index - 1] ?? '') && !reference.test(word)
    return isSecret ? '...' : shellWord(word)
  })
  return [programName(io), ...words].join(' ')
}
