import type { ReceivedEvent } from '../../../receiver/index.ts'
import { shellWord } from '../../output/command-line.ts'

/** Headers that curl makes itself. */
const ownHeaders = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'expect'])

/** A command for a POSIX shell that sends the bytes and headers of a request again. */
export function curlCommand(
  { path, headers, rawBody, method }: ReceivedEvent,
  url: string,
): string {
  const text = rawBody.toString('utf8')
  const isText = Buffer.from(text).equals(rawBody) && !text.includes('\0')
  const target = new URL(url).origin + (path.startsWith('/') ? path : '/')
  const words = ['curl', '-i', '-X', method, target]
  for (const [name, value] of Object.entries(headers)) {
    // A semicolon sends a header without a value; a colon would remove it.
    if (!ownHeaders.has(name)) words.push('-H', value === '' ? `${name};` : `${name}: ${value}`)
  }
  // With --data-binary, a text that begins with @ would name a file.
  words.push(...(isText ? ['--data-raw', text] : ['--data-binary', '@-']))
  const command = words.map(shellWord).join(' ')
  return isText ? command : `echo ${rawBody.toString('base64')} | base64 -d | ${command}`
}
