import type { Header } from '../http/index.ts'
import { endpointName, SettingError } from '../model/index.ts'
import type { ForwardTarget } from './forward.ts'

/** Recognises requests that come back to the receiver that forwarded them. */
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

  /** Whether this receiver has already forwarded the request. */
  isOn(headers: readonly Header[]): boolean {
    return headers.some(
      ([name, value]) =>
        name.toLowerCase() === 'via' && value.split(',').some((hop) => hop.trim() === this.#via),
    )
  }
}

/** Names and addresses of this machine on which a receiver can listen or be reached. */
const localNames = new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]'])

/**
 * Checks that a receiver does not forward to itself.
 *
 * @param ownUrls - the URLs of the receiver
 * @throws SettingError `forwardTo` naming the target
 */
export function checkNotOwn(targets: readonly ForwardTarget[], ownUrls: readonly string[]): void {
  for (const { url } of targets) {
    if (!ownUrls.some((own) => isSamePlace(new URL(url), new URL(own)))) continue
    throw new SettingError(
      'forwardTo',
      `Cannot forward to ${endpointName(url)}: the receiver itself listens there`,
      'Give the URL of your application, or listen on a different port.',
    )
  }
}

function isSamePlace(target: URL, own: URL): boolean {
  if (target.port !== own.port) return false
  const isLocal = [target, own].every(({ hostname }) => localNames.has(hostname))
  return isLocal || target.hostname === own.hostname
}
