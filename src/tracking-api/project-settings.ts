import { jsonAnswer, type HttpAnswer } from '../http/index.ts'

/** The address that clients should send to. */
export interface ApiAddress {
  readonly protocol: string
  /** Host, port and path. */
  readonly host: string
}

/** The keys under which the clients of Segment, Customer.io and Hightouch look for the service's settings. */
const integrationNames = ['Segment.io', 'Customer.io Data Pipelines', 'Hightouch.io']

/** Answers with the settings that browser and mobile clients fetch: this service as the only integration. */
export function projectSettings(writeKey: string, { protocol, host }: ApiAddress): HttpAnswer {
  const service = { apiKey: writeKey, apiHost: `${host}/v1`, protocol, addBundledMetadata: true }
  const document = {
    integrations: Object.fromEntries(integrationNames.map((name) => [name, service])),
    plan: { track: {}, identify: {}, group: {} },
    edgeFunction: {},
    metrics: { sampleRate: 0 },
  }
  return jsonAnswer(200, document, { 'cache-control': 'no-store' })
}

/** Answers with the settings that RudderStack's clients fetch: an enabled source that sends all calls here. */
export function sourceConfig(writeKey: string, id: string): HttpAnswer {
  const statsCollection = { errors: { enabled: false }, metrics: { enabled: false } }
  const source = { id, name: id, writeKey, enabled: true, config: { statsCollection } }
  const document = { source: { ...source, destinations: [], dataplanes: {} } }
  return jsonAnswer(200, document, { 'cache-control': 'no-store' })
}

/** Answers with a script in place of the analytics.js that the classic snippet loads. It logs what to load instead. */
export function classicSnippet({ protocol, host }: ApiAddress): HttpAnswer {
  const cdnURL = JSON.stringify(`${protocol}://${host}`)
  const message =
    'evroute has no analytics.js for the snippet. Install @segment/analytics-next, and load it with ' +
    `AnalyticsBrowser.load({ writeKey: '<write key>', cdnURL: ${cdnURL} }).`
  return {
    status: 200,
    headers: { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'no-store' },
    body: `console.error(${JSON.stringify(message)})\n`,
  }
}
