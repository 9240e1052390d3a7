import { AddressGuard } from '../../src/http/index.ts'
import { checkDestination, WebhookSender } from '../../src/webhook/index.ts'

// Posts once to each URL in the arguments, through the proxy in POST_THROUGH, and prints the outcomes.
const destination = checkDestination({
  id: 'each',
  sourceIds: ['cli'],
  endpoints: process.argv.slice(2).map((url) => ({ url })),
})
const { POST_THROUGH: proxy } = process.env
const guard = new AddressGuard({ allow: ['127.0.0.0/8'], proxy: proxy ?? null })
const sender = new WebhookSender({ destination, guard })
const webhook = { body: '{"type":"delete"}', messageId: 'm_1' }
const outcomes = await Promise.all(
  destination.endpoints.map((endpoint) => sender.post(endpoint, webhook)),
)
await sender.close()
process.stdout.write(JSON.stringify(outcomes))
