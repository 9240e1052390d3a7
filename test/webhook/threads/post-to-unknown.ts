import { checkDestination, SenderThreads } from '../../../src/webhook/index.ts'

// Posts to an endpoint that the sender does not have, which is a bug of the caller.
const endpoints = [{ url: 'http://127.0.0.1:9/' }]
const destination = checkDestination({ id: 'crm', sourceIds: ['website'], endpoints })
const sender = new SenderThreads(1).open({ destination })
await sender.post({ url: 'http://127.0.0.1:10/', headers: {} }, { body: '{}', messageId: 'm_1' })
