import type { Header } from '../http/index.ts'
import { endpointName, SettingError } from '../model/index.ts'
import type { ForwardTarget } from './forward.ts'

/** Recognises requests that a receiver forwarded, if a ring of receivers leads them back. */
export class ForwardMark {
  readonly #via: string

  /** @param id - unique among receivers */
  constructor(id: string) {
    this.#via = `1.1 evroute-${id}`
  }

  /** The header that marks forwarded requests. */
  get header(): Header {
    return ['via', this.#via]
  }

  /** Whether a request was forwarded by this receiver before. */
  isOn(headers: readonly Header[]): boolean {
    return headers.some(
      ([name, value]) =>
        name.toLowerCase() === 'via' && value.split(',').some((hop) => hop.trim() === this.#via),
    )
  }
}

/** Names and addresses of this machine: those that a receiver listens on and can be reached by. */
const localNames = new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]'])

/**
 * Checks that a receiver does not forward to itself.
 *
 * @param ownUrls - those that it can be reached by
 * @throws SettingError `forwardTo` naming the target
 */
export function checkNotOwn(targets: readonly ForwardTarget[], ownUrls: readonly string[]): void {
  for (const { url } of targets) {
    if (!ownUrls.some((own) => isSamePlace(new URL(url), new URL(own)))) continue
    throw new SettingError(
      'forwardTo',
      `Cannot forward to ${endpointName(url)}: it is where the receiver itself listens`,
      'Name the URL of your application, or listen on another port.',
    )
  }
}

function isSamePlace(target: URL, own: URL): boolean {
  if (target.port !== own.port) return false
  const isLocal = [target, own].every(({ hostname }) => localNames.has(hostname))
  return isLocal || target.hostname === own.hostname
}
