import { post } from '../requests.ts'

/** Performs an action over the API of a receiver. */
export function act(url: string, action: string, body: object) {
  const json = { 'content-type': 'application/json' }
  return post(`${url}/_evroute/actions/${action}`, JSON.stringify(body), json)
}
