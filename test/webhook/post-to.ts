import { onTestFinished } from 'vitest'
import {
  checkDestination,
  WebhookSender,
  type DestinationSettings,
  type EndpointSettings,
  type RequestOutcome,
  type SenderOptions,
} from '../../src/webhook/index.ts'

/** The request body. */
export const body = '{"version":1,"type":"track","userId":"u_1","event":"Café 🎈"}'

/** Posts once more over the same sender. */
export type Post = (text?: string, messageId?: string) => Promise<RequestOutcome>

/** Overrides besides the destination. */
export type SendingSettings = Partial<Omit<SenderOptions, 'destination'>>

/** Posts to one endpoint, the first of a destination, over its own connections. */
export function postTo(
  endpoint: EndpointSettings,
  settings: Partial<DestinationSettings> & SendingSettings = {},
): Post & { readonly sender: WebhookSender } {
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [endpoint],
    ...settings,
  })
  const sender = new WebhookSender({ ...settings, destination })
  onTestFinished(() => sender.close())
  const post = (text = body, messageId = 'm_1'): Promise<RequestOutcome> =>
    sender.post(destination.endpoints[0]!, { body: text, messageId })
  return Object.assign(post, { sender })
}
