import {
  isPostgresUrl,
  maskedUrl,
  postgresRefusal,
  readableUrl,
} from './postgres/connection-url.ts'
import type { UrlRefusal } from './store-errors.ts'

/** Returns the name of a store for messages and logs. For a server it has neither password nor parameters. */
export function storeName(url: string): string {
  return isPostgresUrl(url) ? readableUrl(url) : url
}

/**
 * Masks everything in the URL of a store that could be secret.
 *
 * @param mask - the text that replaces it
 */
export function maskedStoreUrl(url: string, mask: string): string {
  return isPostgresUrl(url) ? maskedUrl(url, mask) : url
}

/**
 * Returns why the URL of a server cannot be used; undefined if it can, or if it belongs to another engine.
 * Does not connect.
 */
export function serverUrlRefusal(url: string): UrlRefusal | undefined {
  return isPostgresUrl(url) ? postgresRefusal(url) : undefined
}

/** Quotes a URL that names no store, for an error message; returns '' if it could contain a password. */
export function quotedUrl(url: string): string {
  const isKept = isPostgresUrl(url) || /[@?=]|:\/\//.test(url)
  return isKept ? '' : ` "${url}"`
}
