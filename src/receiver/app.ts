import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { errorAnswer, isBrowserAtRoot, sendAnswer } from '../http/index.ts'
import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { accepted } from './answer.ts'
import { actionsPrefix, apiPrefix } from './api-exchange.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Makes a receiver's request listener. It calls `answer` for the page and the API, otherwise `receive`. */
export function receiverApp(
  { answer, receive }: Readonly<Record<'answer' | 'receive', Handler>>,
  log: Log,
): RequestListener {
  return (request, response) => {
    const { method, url = '' } = request
    const isRead = method === 'GET' || method === 'HEAD'
    if (isRead && /^\/healthz(?:$|\?)/.test(url)) {
      sendAnswer(response, accepted(200))
      return
    }
    if (isBrowserAtRoot(request)) {
      sendAnswer(response, { status: 303, headers: { location: apiPrefix }, body: '' })
      return
    }
    const isApiRequest =
      method === 'POST'
        ? url.startsWith(actionsPrefix)
        : method === 'GET' && url.startsWith(apiPrefix)
    const handle = isApiRequest ? answer : receive
    handle(request, response).catch((error: unknown) => {
      log.warn('a request could not be handled', { error: messageOf(error) })
      sendAnswer(response, errorAnswer(500, 'internal_error', 'The receiver failed'))
    })
  }
}
