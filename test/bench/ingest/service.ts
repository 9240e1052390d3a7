// The service with a store in a file, in its own process.
import { createService } from '../../../dist/service/library.js'
import { silentLog, createRuntime } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { answerOf, type ServerQuestion, type ServerSettings } from './answering.ts'
import { writeKey } from './requests.ts'

const { path, isRouted } = programSettings() as ServerSettings

// Nothing listens on port 9 (discard): the breaker opens at once, and deliveries wait instead of competing
// with what is measured.
const destination = {
  id: 'parked',
  type: 'Webhooks',
  sources: ['website'],
  endpoints: [{ url: 'http://127.0.0.1:9/' }],
  sharedSecret: 'not-a-real-secret',
}

const { address } = await createService({
  configuration: {
    store: `sqlite:${path}`,
    sources: [{ id: 'website', writeKeys: [writeKey] }],
    destinations: isRouted ? [destination] : [],
    network: { allow: ['127.0.0.1'] },
    limits: { backlogMax: 1_000_000_000 },
  },
  runtime: createRuntime({ log: silentLog }),
})
answerQuestions((question: ServerQuestion) => answerOf(question, address.url))
