import { join } from 'node:path'
import { request } from 'undici'
import { onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { ManualClock, systemClock, type Clock } from '../../src/runtime/index.ts'
import { readConfiguration, Service, type Configuration } from '../../src/service/index.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { TestEndpoint } from '../support/endpoint.ts'

export const token = 'not-a-real-token'
export const secret = 'not-a-real-secret'
export const writeKey = 'wk_example'

/** Settings of the only source, the first destination, more destinations, and whole sections. */
export interface GivenSettings {
  readonly source?: object
  readonly destination?: object
  readonly others?: readonly object[]
  readonly [section: string]: unknown
}

/** Reads an object as if it were a file in that folder. */
export async function configurationOf(document: object, folder: string): Promise<Configuration> {
  const outcome = await readConfiguration(join(folder, 'evroute.config.json'), {
    env: {},
    readFile: () => Promise.resolve(JSON.stringify(document)),
  })
  if (outcome.kind === 'valid') return outcome.configuration
  throw new Error(`It is invalid: ${JSON.stringify(outcome.problems)}`)
}

/** A source `website` whose events go to the endpoint, signed; the settings override that. */
export function documentFor(endpoint: TestEndpoint, given: GivenSettings = {}): object {
  const { source = {}, destination = {}, others = [], ...sections } = given
  return {
    listen: { port: 0 },
    admin: { port: 0, token },
    store: 'memory:',
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: [writeKey], ...source }],
    destinations: [
      {
        id: 'crm',
        type: 'Webhooks',
        sources: ['website'],
        endpoints: [{ url: endpoint.url }],
        sharedSecret: secret,
        ...destination,
      },
      ...others,
    ],
    ...sections,
  }
}

/** A response, with its body parsed if it is JSON. */
export interface Answered {
  readonly status: number
  readonly body: unknown
}

/** Sends an HTTP request. */
export async function sendRequest(
  url: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: object } = {},
): Promise<Answered> {
  const response = await request(url, {
    method: options.body === undefined ? 'GET' : 'POST',
    headers: { ...options.headers },
    body: options.body === undefined ? null : JSON.stringify(options.body),
  })
  const text = await response.body.text()
  const isJson = String(response.headers['content-type']).startsWith('application/json')
  return { status: response.statusCode, body: isJson ? (JSON.parse(text) as unknown) : text }
}

/** A service that runs until the test ends, with helpers to use it. */
export async function startService(document: object, clock: Clock = systemClock, given?: string) {
  const folder = given ?? (await temporaryFolder())
  const recording = recordingRuntime(clock)
  const failures: unknown[] = []
  const service = await Service.start({
    configuration: await configurationOf(document, folder),
    runtime: recording.runtime,
    failed: (error) => failures.push(error),
  })
  onTestFinished(() => service.close())
  const { url, admin } = service.address
  return {
    service,
    folder,
    failures,
    ...recording,
    /** Posts a track call with this messageId. */
    track: (messageId: string, key = writeKey, fields: JsonObject = {}): Promise<Answered> =>
      sendRequest(`${url}/v1/track`, {
        headers: { 'x-write-key': key },
        body: { userId: 'u_1', event: 'Order Completed', messageId, ...fields },
      }),
    /** Sends a request to the admin API. */
    admin: (path: string, body?: object, bearer = token): Promise<Answered> =>
      sendRequest(`${admin ?? ''}${path}`, {
        headers: { authorization: `Bearer ${bearer}` },
        ...(body === undefined ? {} : { body }),
      }),
    /** Reloads with this configuration. */
    reconfigure: async (changed: object) =>
      service.reconfigure(await configurationOf(changed, folder)),
    ready: () => sendRequest(`${url}/readyz`),
  }
}

/** A clock that only moves when the test advances it. */
export function manualClock(): ManualClock {
  return new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678))
}
