import { createHash, timingSafeEqual } from 'node:crypto'

/** Makes a constant-time check for a bearer token in an Authorization header. */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(Buffer.from(token))
  return (authorization = '') => {
    // Node decodes headers as Latin-1, so encode the token back to its bytes.
    const [, given = ''] = /^Bearer +(.+)$/i.exec(authorization) ?? []
    return timingSafeEqual(digest(Buffer.from(given, 'latin1')), expected)
  }
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
