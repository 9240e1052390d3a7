import { endpointName, shellQuoted } from '../../model/index.ts'
import type { Io } from '../io.ts'

/** Returns the name to call evroute by: `npx evroute` if npx started it. */
export function programName({ env }: Pick<Io, 'env'>): string {
  return env['npm_command'] === 'exec' ? 'npx evroute' : 'evroute'
}

/** Replaces `evroute` in the backquoted commands of a text with {@link programName}. */
export function asCalled(text: string, io: Pick<Io, 'env'>): string {
  return text.replaceAll('`evroute ', `\`${programName(io)} `)
}

/** Quotes a word for a POSIX shell, if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word)
}

/** Formats a command line for pasting. Secrets become `...`, unless they are references such as `env:NAME`. */
export function commandLine(argv: readonly string[], io: Pick<Io, 'env'>): string {
  const words = argv.map((word, index) => {
    const [flag = '', value] = word.split(/=(.*)/s)
    if (value !== undefined && word.startsWith('--')) return `${flag}=${valueWord(flag, value)}`
    return valueWord(argv[index - 1] ?? '', word)
  })
  return [programName(io), ...words].join(' ')
}

/** Formats the value of a secret for a command line. Hides it, unless it is a reference or `isShown` is true. */
export function secretWord(value: string, isShown = false): string {
  return isShown || /^(?:@|env:)/.test(value) ? shellWord(value) : '...'
}

function valueWord(flag: string, value: string): string {
  switch (flag) {
    case '--secret':
    case '--write-key':
    case '--token':
      return secretWord(value)
    case '--header':
    case '-H':
      return '...'
    case '--store':
      // A database URL may contain a password.
      return value.startsWith('postgres') ? '...' : shellWord(value)
    case '--to':
    case '--endpoint':
      return shellWord(endpointName(value))
    default:
      return shellWord(value)
  }
}
