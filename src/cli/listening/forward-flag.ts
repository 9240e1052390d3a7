import { isEventType } from '../../model/index.ts'
import type { ForwardTarget } from '../../receiver/index.ts'

/** Collects `[type=]<url>` flags. The receiver checks the URLs. */
export function forwardFlag(
  text: string,
  previous: readonly ForwardTarget[] = [],
): readonly ForwardTarget[] {
  const equals = text.indexOf('=')
  const type = text.slice(0, equals)
  const target =
    equals > 0 && isEventType(type)
      ? { type, url: text.slice(equals + 1) }
      : { type: null, url: text }
  return [...previous, target]
}
