import { messageOf, systemCode } from '../model/index.ts'

/** The environment variables and files that `env:NAME` and `@path` read. */
export interface ReferenceSources {
  /** The environment variables; undefined if there is no environment. */
  readonly env: Readonly<Record<string, string | undefined>> | undefined
  readonly readFile: (path: string) => Promise<string>
}

/** The value of a reference; `itself` if the text is no reference. */
export type ReferencedValue =
  | { readonly kind: 'itself' }
  /** The value is never empty. */
  | { readonly kind: 'read'; readonly value: string }
  | {
      readonly kind: 'unreadable'
      readonly source: 'variable' | 'file'
      /** A phrase that names the variable or file, such as `the file key`. */
      readonly named: string
      /** Why there is no value, such as `it is empty`. */
      readonly because: string
      readonly cause?: unknown
    }

/** Reads `env:NAME` from the environment, and `@path` from a file without its final line break. Never throws. */
export async function readReference(
  text: string,
  sources: ReferenceSources,
): Promise<ReferencedValue> {
  if (text.startsWith('env:')) return readVariable(text.slice('env:'.length), sources)
  return text.startsWith('@') ? readNamedFile(text.slice(1), sources) : { kind: 'itself' }
}

/** Whether a text is a reference to an environment variable or a file. */
export function isReference(text: string): boolean {
  return /^(env:|@)/.test(text)
}

function readVariable(name: string, { env }: ReferenceSources): ReferencedValue {
  const value = env?.[name]
  if (value !== undefined && value !== '') return { kind: 'read', value }
  const because =
    env === undefined ? 'no environment is given' : `it is ${value === '' ? 'empty' : 'not set'}`
  const named = `the environment variable ${name}`
  return { kind: 'unreadable', source: 'variable', named, because }
}

async function readNamedFile(
  path: string,
  { readFile }: ReferenceSources,
): Promise<ReferencedValue> {
  const unreadable = { kind: 'unreadable', source: 'file', named: `the file ${path}` } as const
  try {
    const text = await readFile(path)
    const value = text.replace(/\r?\n$/, '')
    return value === '' ? { ...unreadable, because: 'it is empty' } : { kind: 'read', value }
  } catch (error) {
    return { ...unreadable, because: unreadableReason(error), cause: error }
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
}

/** Describes why a file could not be read, as a clause after a colon. */
export function unreadableReason(error: unknown): string {
  return reasons[systemCode(error) ?? ''] ?? messageOf(error)
}
