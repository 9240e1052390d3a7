import { SettingError } from '../model/index.ts'
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

/**
 * Checks that the URL of a store can be used. The message repeats the URL unless it could contain a password.
 *
 * @param cannot - the beginning of the message, as in `Cannot open the store`
 * @throws SettingError of the setting if it is refused
 */
export function expectUsable(
  url: string,
  refusal: UrlRefusal | undefined,
  { setting = '--store', cannot }: { readonly setting?: string; readonly cannot: string },
): void {
  if (refusal === undefined) return
  const isHidden = isPostgresUrl(url) || /[@?=]|:\/\//.test(url)
  const quoted = isHidden ? '' : ` "${url}"`
  throw new SettingError(setting, `${cannot}${quoted}: ${refusal.why}`, refusal.hint)
}
