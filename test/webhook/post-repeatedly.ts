import { checkDestination, WebhookSender } from '../../src/webhook/index.ts'

// Posts a body to each URL, once to warm up, then `count` times. Prints by how many bytes the peak of resident
// memory rose for each URL.
const [body = '', count = '0', ...urls] = process.argv.slice(2)
const destinations = urls.map((url, index) =>
  checkDestination({ id: `crm-${index}`, sourceIds: ['cli'], endpoints: [{ url }] }),
)
const senders = destinations.map((destination) => new WebhookSender({ destination }))

async function post(index: number, times: number): Promise<void> {
  const endpoint = destinations[index]!.endpoints[0]!
  for (let done = 0; done < times; done++) {
    await senders[index]!.post(endpoint, { body, messageId: 'm_1' })
  }
}

const peakBytes = (): number => process.resourceUsage().maxRSS * 1024
for (const index of urls.keys()) await post(index, 1)
const growths: number[] = []
for (const index of urls.keys()) {
  const beforeBytes = peakBytes()
  await post(index, Number(count))
  growths.push(peakBytes() - beforeBytes)
}
process.stdout.write(JSON.stringify(growths))
await Promise.all(senders.map((sender) => sender.close()))
