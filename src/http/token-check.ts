import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Makes a check of the Authorization header, in constant time.
 *
 * @returns a function that says whether the header carries the token
 */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(token))
  return (authorization = '') => {
    // Node reads the bytes of headers as Latin-1.
    const [, given = ''] = /^Bearer +(.+)$/i.exec(authorization) ?? []
    return timingSafeEqual(digest(Buffer.from(given, 'latin1')), expected)
  }
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
