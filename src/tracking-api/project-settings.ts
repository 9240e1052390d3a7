import { jsonAnswer, type HttpAnswer } from '../http/index.ts'

/** Where clients that ask for their settings send to. */
export interface ApiAddress {
  /** `http` or `https`. */
  readonly protocol: string
  /** Host and port. */
  readonly host: string
}

/**
 * The settings that browser and mobile clients ask for before they send: one integration, which is this
 * service, and no measurements of the client itself.
 */
export function projectSettings(writeKey: string, { protocol, host }: ApiAddress): HttpAnswer {
  const segment = { apiKey: writeKey, apiHost: `${host}/v1`, protocol, addBundledMetadata: true }
  const document = {
    integrations: { 'Segment.io': segment },
    plan: { track: {}, identify: {}, group: {} },
    edgeFunction: {},
    metrics: { sampleRate: 0 },
  }
  return jsonAnswer(200, document, { 'cache-control': 'no-store' })
}
