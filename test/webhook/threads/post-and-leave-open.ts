import { checkDestination, SenderThreads } from '../../../src/webhook/index.ts'

// Posts to the URL in the arguments, and closes neither the sender nor the thread.
const [url = ''] = process.argv.slice(2)
const destination = checkDestination({ id: 'crm', sourceIds: ['website'], endpoints: [{ url }] })
const sender = new SenderThreads(1).open({ destination })
const outcome = await sender.post({ url, headers: {} }, { body: '{}', messageId: 'm_1' })
process.stdout.write(`${outcome.kind}\n`)
