// The service over a store in a file, in a process of its own.
import { createService } from '../../../dist/service/library.js'
import { silentLog, createRuntime } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { answerOf, type ServerQuestion, type ServerSettings } from './answering.ts'
import { writeKey } from './requests.ts'

const { path, isRouted } = programSettings() as ServerSettings

// Nothing listens on the port for sockets that discard: the breaker opens at once and what is stored
// waits, so that no delivery competes with what is measured.
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
