import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { json, refuseMethod, send, type Answer } from './answer.ts'
import type { AdminApiOptions } from './ports.ts'

/** Answers `GET /healthz` (always 200) and `GET /readyz` (200, or 503 with the reasons) without a token. */
export function healthHandler(
  ready: AdminApiOptions['ready'],
  log: Log,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (request, response, next) => {
    const [path] = (request.url ?? '').split('?')
    if (path !== '/healthz' && path !== '/readyz') next()
    else if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, refuseMethod('GET, HEAD'))
    } else if (path === '/healthz') send(response, json(200, { status: 'ok' }))
    else void readiness(ready, log).then((answer) => send(response, answer))
  }
}

async function readiness(ready: AdminApiOptions['ready'], log: Log): Promise<Answer> {
  const reasons = await ready().catch((error: unknown) => {
    log.warn('readiness could not be checked', { error: messageOf(error) })
    return ['Readiness could not be checked']
  })
  return reasons.length === 0
    ? json(200, { status: 'ready' })
    : json(503, { status: 'not_ready', reasons })
}
