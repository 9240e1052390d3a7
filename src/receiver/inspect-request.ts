import type { IncomingMessage } from 'node:http'
import { readBody } from '../http/index.ts'
import { limits } from '../model/index.ts'
import type { Findings } from './answer.ts'
import { readWebhook, type Malformed } from './read-webhook.ts'
import type { RefusalCode } from './received-event.ts'
import type { ReceiverSettings } from './settings.ts'
import { SignatureJudge, uncheckedSignature, type SignatureJudgement } from './signature.ts'

/** What was found in a request, with the bytes it was found in. */
export interface Inspection extends Findings {
  /** The body's bytes that arrived, at most 1 MB. */
  readonly rawBody: Buffer
}

/** The settings that a signature is judged with. */
type JudgingSettings = Pick<ReceiverSettings, 'secret' | 'runtime'>

/** One for each receiver, which its settings stand for: it remembers what it found last. */
const judges = new WeakMap<JudgingSettings, SignatureJudge>()

/** Reads a request to its end and looks at its signature and body. Never rejects. */
export async function inspectRequest(
  request: IncomingMessage,
  settings: JudgingSettings,
): Promise<Inspection> {
  const { method = '' } = request
  if (method !== 'POST') {
    const message = `The request is a ${method}: webhooks are sent with POST`
    return refused(Buffer.alloc(0), 'method_not_allowed', message)
  }
  const bodyLimits = { bytesMax: limits.webhookBytesMax, clock: settings.runtime.clock }
  const { kind, bytes } = await readBody(request, bodyLimits)
  switch (kind) {
    case 'complete':
      return {
        content: readWebhook(bytes),
        signature: judge(bytes, request, settings),
        rawBody: bytes,
      }
    case 'too_large':
      return refused(bytes, 'body_too_large', 'The body is larger than 1 MB')
    case 'too_slow':
      return refused(bytes, 'body_too_slow', 'The body was not there after 30 s')
    case 'cut_off':
      return refused(bytes, 'incomplete_body', `The body broke off after ${bytes.length} bytes`)
  }
}

/** A request's headers, names in lower case; the values of one sent more than once are joined. */
export function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  const headers = Object.entries(request.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ])
  return Object.freeze(Object.fromEntries(headers) as Record<string, string>)
}

function judge(
  body: Buffer,
  request: IncomingMessage,
  settings: JudgingSettings,
): SignatureJudgement {
  const { secret, runtime } = settings
  if (secret === undefined) return uncheckedSignature
  const known = judges.get(settings) ?? new SignatureJudge({ secret })
  judges.set(settings, known)
  const headers = headersOf(request)
  const signature = headers['x-signature']
  return known.judge({ body, signature, headers, path: request.url }, runtime.clock.nowMs())
}

function refused(rawBody: Buffer, code: RefusalCode, message: string): Inspection {
  const content: Malformed<RefusalCode> = { kind: 'malformed', code, message }
  return { content, signature: uncheckedSignature, rawBody }
}
