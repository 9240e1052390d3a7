import { onTestFinished } from 'vitest'
import {
  checkDestination,
  WebhookSender,
  type DestinationSettings,
  type EndpointSettings,
  type RequestOutcome,
  type Sender,
  type SenderOptions,
} from '../../src/webhook/index.ts'

/** The default body of requests. */
export const body = '{"version":1,"type":"track","userId":"u_1","event":"Café 🎈"}'

/** Posts a webhook over the sender. */
export type Post = (text?: string, messageId?: string) => Promise<RequestOutcome>

/** The options of the sender, except the destination. */
export type SendingSettings = Partial<Omit<SenderOptions, 'destination'>> & {
  /** Opens the sender, by default in this thread. */
  readonly open?: (options: SenderOptions) => Sender
}

/** Opens a sender, which is closed when the test ends. Returns a function that posts to its first endpoint. */
export function postTo(
  endpoint: EndpointSettings,
  settings: Partial<DestinationSettings> & SendingSettings = {},
): Post & { readonly sender: Sender } {
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [endpoint],
    ...settings,
  })
  const { open = (options: SenderOptions): Sender => new WebhookSender(options) } = settings
  const sender = open({ ...settings, destination })
  onTestFinished(() => sender.close())
  const post = (text = body, messageId = 'm_1'): Promise<RequestOutcome> =>
    sender.post(destination.endpoints[0]!, { body: text, messageId })
  return Object.assign(post, { sender })
}
