import { onTestFinished } from 'vitest'
import type { AddressGuard } from '../../src/http/index.ts'
import {
  checkDestination,
  WebhookSender,
  type DestinationSettings,
  type EndpointSettings,
  type RequestOutcome,
} from '../../src/webhook/index.ts'

/** What is posted. */
export const body = '{"version":1,"type":"track","userId":"u_1","event":"Café 🎈"}'

/** Posts once more over the same sender. */
export type Post = (text?: string) => Promise<RequestOutcome>

/** What may be set besides the destination. */
export interface SendingSettings {
  readonly deadlineMs?: number
  readonly guard?: AddressGuard
}

/** Posts to one endpoint, the first of a destination, with connections of its own. */
export function postTo(
  endpoint: EndpointSettings,
  { deadlineMs, guard, ...settings }: Partial<DestinationSettings> & SendingSettings = {},
): Post & { readonly sender: WebhookSender } {
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [endpoint],
    ...settings,
  })
  const sender = new WebhookSender({
    destination,
    guard,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  })
  onTestFinished(() => sender.close())
  const post = (text = body): Promise<RequestOutcome> =>
    sender.post(destination.endpoints[0]!, text)
  return Object.assign(post, { sender })
}
