import {
  restyleBody,
  signBody,
  webhookHeaders,
  type BodyStyle,
  type ComposeRequest,
} from '../../webhook/index.ts'
import type { WebhookTarget } from './sending-options.ts'

/** Composes requests with bodies in the style of a target; undefined for the sender's own requests. */
export function composeInStyle({
  destination,
  bodyStyle,
}: WebhookTarget): ComposeRequest | undefined {
  if (bodyStyle === undefined) return undefined
  const { sharedSecret } = destination
  return (webhook, endpoint) => {
    const body = restyleBody(webhook.body, bodyStyle)
    const signature = sharedSecret === undefined ? undefined : signBody(body, sharedSecret)
    return { headers: webhookHeaders(endpoint, signature), body }
  }
}

/** The body as it is sent. */
export function inStyle(body: string, bodyStyle: BodyStyle | undefined): string {
  return bodyStyle === undefined ? body : restyleBody(body, bodyStyle)
}
