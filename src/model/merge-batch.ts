import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

/** Fields of a batch that apply to all of its calls. */
export interface BatchDefaults {
  /** Goes under the context of each call. */
  readonly context?: JsonObject
  /** Goes under the integrations of each call. */
  readonly integrations?: JsonObject
}

/** Size of the batch's common fields as JSON, in bytes of UTF-8. They must not be nested too deeply. */
export function batchDefaultsBytes({ context, integrations }: BatchDefaults): number {
  return jsonBytes(context) + jsonBytes(integrations)
}

/**
 * Makes the function that merges a batch's context and integrations into a call. The call's own values win,
 * key by key at the top level. Integrations inside a context count if there are no others, in the call and in
 * the batch. Values of the call that are not objects stay, so that the check of the call refuses them.
 * Nothing is copied: unchanged parts are shared, and a call that gains nothing is returned itself.
 */
export function batchMerger(batch: BatchDefaults): (call: JsonObject) => JsonObject {
  const shared = liftIntegrations({ ...batch })
  return (call) => {
    const own = liftIntegrations(call)
    const context = under(shared['context'], own['context'])
    const integrations = under(shared['integrations'], own['integrations'])
    if (context === own['context'] && integrations === own['integrations']) return own
    const merged: Record<string, JsonValue | undefined> = { ...own }
    if (context !== undefined) merged['context'] = context
    if (integrations !== undefined) merged['integrations'] = integrations
    return merged
  }
}

/**
 * Moves `context.integrations`, where some clients write them, to the top level. They are dropped
 * where the top level has its own, or when they are no object.
 */
export function liftIntegrations(call: JsonObject): JsonObject {
  const { context } = call
  if (!isJsonObject(context) || !Object.hasOwn(context, 'integrations')) return call
  const { integrations: nested, ...rest } = context
  const lifted = { ...call, context: rest }
  const isNeeded = isJsonObject(nested) && (call['integrations'] ?? null) === null
  return isNeeded ? { ...lifted, integrations: nested } : lifted
}

function under(shared: JsonValue | undefined, own: JsonValue | undefined): JsonValue | undefined {
  if (own === undefined || own === null) return shared ?? own
  return isJsonObject(shared) && isJsonObject(own) ? { ...shared, ...own } : own
}

function jsonBytes(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}
