import {
  isPostgresUrl,
  maskedUrl,
  postgresRefusal,
  readableUrl,
} from './postgres/connection-url.ts'
import type { UrlRefusal } from './store-errors.ts'

/**
 * The name of a store for messages and logs. For a server it has neither password nor parameters.
 */
export function storeName(url: string): string {
  return isPostgresUrl(url) ? readableUrl(url) : url
}

/**
 * The URL of a store in which everything that could be secret is masked.
 *
 * @param mask - the text in its place
 */
export function maskedStoreUrl(url: string, mask: string): string {
  return isPostgresUrl(url) ? maskedUrl(url, mask) : url
}

/**
 * Why the URL of a server cannot be used; undefined if it can, or if it belongs to another engine.
 * Nothing is connected.
 */
export function serverUrlRefusal(url: string): UrlRefusal | undefined {
  return isPostgresUrl(url) ? postgresRefusal(url) : undefined
}

/** A text that names no store, for an error message; empty if it could contain a password. */
export function quotedUrl(url: string): string {
  const isKept = isPostgresUrl(url) || /[@?=]|:\/\//.test(url)
  return isKept ? '' : ` "${url}"`
}
