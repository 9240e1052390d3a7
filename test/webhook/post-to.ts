import { onTestFinished } from 'vitest'
import {
  checkDestination,
  WebhookSender,
  type DestinationSettings,
  type EndpointSettings,
  type RequestOutcome,
  type SenderOptions,
} from '../../src/webhook/index.ts'

/** What is posted. */
export const body = '{"version":1,"type":"track","userId":"u_1","event":"Café 🎈"}'

/** Posts once more over the same sender. */
export type Post = (text?: string, messageId?: string) => Promise<RequestOutcome>

/** What may be set besides the destination. */
export type SendingSettings = Partial<Omit<SenderOptions, 'destination'>>

/** Posts to one endpoint, the first of a destination, with connections of its own. */
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
