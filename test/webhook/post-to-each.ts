import { checkDestination, WebhookSender } from '../../src/webhook/index.ts'

// Posts once to each URL of the command line and prints the outcomes.
const destination = checkDestination({
  id: 'each',
  sourceIds: ['cli'],
  endpoints: process.argv.slice(2).map((url) => ({ url })),
})
const sender = new WebhookSender({ destination })
const webhook = { body: '{"type":"delete"}', messageId: 'm_1' }
const outcomes = await Promise.all(
  destination.endpoints.map((endpoint) => sender.post(endpoint, webhook)),
)
await sender.close()
process.stdout.write(JSON.stringify(outcomes))
