import { InvalidArgumentError } from 'commander'

/** A file that a report is written to. */
export interface ReportFile {
  /** How it is written. */
  readonly kind: 'junit'
  /** The file, which is replaced. */
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
