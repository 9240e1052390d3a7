import { isPostgresUrl, maskedUrl, readableUrl } from './postgres/connection-url.ts'
import { postgresRefusal } from './postgres/url-refusal.ts'
import type { UrlRefusal } from './url-refusal.ts'

/** A store as people may read it, in messages and in logs: of the URL of a server neither password nor parameters. */
export function storeName(url: string): string {
  return isPostgresUrl(url) ? readableUrl(url) : url
}

/**
 * The URL of a store with all that could be secret masked, for whoever looks into settings.
 *
 * @param mask - what stands in place of it
 */
export function maskedStoreUrl(url: string, mask: string): string {
  return isPostgresUrl(url) ? maskedUrl(url, mask) : url
}

/**
 * Why the URL of a server cannot be used; undefined where it can, and where it is that of another engine.
 * Nothing is connected to.
 */
export function serverUrlRefusal(url: string): UrlRefusal | undefined {
  return isPostgresUrl(url) ? postgresRefusal(url) : undefined
}

/** A text that names no store, for the message that says so; left out where it could have a password in it. */
export function quotedUrl(url: string): string {
  const isKept = isPostgresUrl(url) || /[@?=]|:\/\//.test(url)
  return isKept ? '' : ` "${url}"`
}
