import { timeoutSignal } from '../runtime/index.ts'

/**
 * Sends the first half of a webhook and ends the connection. Then waits until the handler closes its side too: a
 * handler that crashes has crashed by then. Resolves with false if the half could not be sent.
 */
export async function sendHalf(
  url: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<boolean> {
  const { request } = await (url.startsWith('https:') ? import('node:https') : import('node:http'))
  const bytes = Buffer.from(body)
  const timeout = timeoutSignal(timeoutMs)
  const half = request(url, {
    method: 'POST',
    headers: { ...headers, 'Content-Length': bytes.length },
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  })
  return new Promise((resolve) => {
    let isSent = false
    // Ignore an error: `close` follows it.
    half.on('error', () => undefined).on('close', () => resolve(isSent))
    half.write(bytes.subarray(0, bytes.length / 2), (error) => {
      isSent = !error
      half.socket?.end()
    })
  })
}
