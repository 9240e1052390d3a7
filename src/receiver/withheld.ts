import type { IncomingHttpHeaders } from 'node:http'
import { foreignSign } from '../http/index.ts'
import type { SignatureVerdict } from './signature.ts'

/**
 * Why a request must not be passed on to a program or a different server: a web page on a different origin sent it, or
 * a secret is set and the signature is not valid.
 */
export type WithheldReason = 'foreign_origin' | 'signature_not_valid'

/**
 * Returns why a request must not be passed on; null if it may be. Any web page in a browser can post
 * to this machine, but the browser adds the page's Origin.
 *
 * @param signature - the verdict; undefined if no secret is set
 */
export function withheldReason(
  headers: IncomingHttpHeaders,
  signature: SignatureVerdict | undefined,
): WithheldReason | null {
  if (headers.origin !== undefined && foreignSign(headers) !== undefined) return 'foreign_origin'
  return signature === undefined || signature === 'valid' ? null : 'signature_not_valid'
}
