import { InvalidArgumentError } from 'commander'

/** A report file to write. */
export interface ReportFile {
  readonly kind: 'junit'
  /** The path. An existing file is replaced. */
  readonly path: string
}

/** Collects `--report junit=<file>`. */
export function reportFlag(
  text: string,
  previous: readonly ReportFile[] = [],
): readonly ReportFile[] {
  const [, path] = /^junit=(.+)$/s.exec(text) ?? []
  if (path !== undefined) return [...previous, { kind: 'junit', path }]
  throw new InvalidArgumentError('It is written as junit=<file>.')
}
