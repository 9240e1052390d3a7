import express, { type RequestHandler, type Router } from 'express'
import { PageFiles, tokenCheck } from '../http/index.ts'
import { isJsonObject } from '../model/index.ts'
import { commonHeaders, noteWrongToken, refuse, refuseMethod, send, type Answer } from './answer.ts'
import type { AdminApiOptions } from './ports.ts'
import { readDocument } from './read-document.ts'

/**
 * Serves the page of a service. A browser signs in with the link that `serve` prints or with the admin token, and
 * then calls the operations below `v1` with its cookie. No other path accepts the cookie.
 */
export function pageRouter(options: AdminApiOptions, operations: Router): Router {
  const { sessions } = options
  const router = express.Router()
  router.use(requireOwnPage)
  router.get('/sign-in', (request, response) => {
    const { token } = request.query
    const cookie = typeof token === 'string' ? sessions.useLink(token, request) : undefined
    if (cookie === undefined && token !== undefined) noteWrongToken(request, options)
    send(response, cookie === undefined ? redirect('./?link=refused') : redirect('./', cookie))
  })
  router.post('/sign-in', signInHandler(options))
  router.post('/sign-out', (request, response) => {
    const cookie = sessions.end(request)
    send(response, { status: 204, headers: { 'set-cookie': cookie }, body: '' })
  })
  const requireSession: RequestHandler = (request, response, next) => {
    if (!sessions.isOpen(request)) {
      send(response, signedOut)
      return
    }
    response.locals['caller'] = 'page'
    next()
  }
  router.use('/v1', requireSession, operations)
  const files = new PageFiles('service.html')
  router.get('/{*name}', async (request, response, next) => {
    response.setHeaders(new Map(Object.entries(commonHeaders)))
    if (!(await files.send(response, request.path.slice(1)))) next()
  })
  router.all('/', (_request, response) => send(response, refuseMethod('GET, HEAD')))
  return router
}

/**
 * Requires an Origin and a JSON body, except for reads. The cookie alone proves nothing, because browsers also send it
 * for pages on other ports. Forms can't send JSON.
 */
const requireOwnPage: RequestHandler = ({ method, headers }, response, next) => {
  const isRead = method === 'GET' || method === 'HEAD'
  const isJson = headers['content-type']?.split(';')[0]?.trim() === 'application/json'
  if (isRead || (headers.origin !== undefined && isJson)) next()
  else send(response, foreignAction)
}

const foreignAction = refuse(
  'origin_not_allowed',
  'Only the page may do this: the request must be JSON and have the Origin of the page',
)

const signedOut = refuse(
  'unauthorized',
  'You are not signed in; open the link that serve prints, or sign in with the admin token',
)

function signInHandler(options: AdminApiOptions): RequestHandler {
  const { sessions, access, runtime } = options
  const hasToken = tokenCheck(access.token)
  return async (request, response) => {
    const document = await readDocument(request, { clock: runtime.clock })
    if (document === undefined) return
    if ('error' in document) {
      send(response, document)
      return
    }
    const given = isJsonObject(document.value) ? document.value['token'] : undefined
    // `hasToken` expects the text of a header, and Node decodes headers as Latin-1.
    const text = typeof given === 'string' ? Buffer.from(given).toString('latin1') : ''
    if (!hasToken(`Bearer ${text}`)) {
      noteWrongToken(request, options)
      send(response, refuse('unauthorized', 'The token is wrong'))
      return
    }
    const cookie = sessions.open(request)
    send(response, { status: 204, headers: { 'set-cookie': cookie }, body: '' })
  }
}

function redirect(location: string, cookie?: string): Answer {
  const headers = cookie === undefined ? { location } : { location, 'set-cookie': cookie }
  return { status: 303, headers, body: '' }
}
