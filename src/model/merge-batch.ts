import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

/** The context and integrations of a batch: the defaults for each of its calls. */
export interface BatchDefaults {
  readonly context?: JsonObject
  readonly integrations?: JsonObject
}

/** Measures a batch's common fields in bytes of JSON. Check their nesting first: deep nesting throws. */
export function batchDefaultsBytes({ context, integrations }: BatchDefaults): number {
  return jsonBytes(context) + jsonBytes(integrations)
}

/**
 * Makes a function that merges a batch's context and integrations into a call. Merges key by key, at the top level
 * only; the call's value wins. Applies {@link liftIntegrations} to the batch and the call first. A value of the call
 * that is not an object stays, and `checkCall` refuses it. Returns the call itself if nothing changes.
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

/** Some clients send `context.integrations`. Moves it to the top level, or drops it if integrations exist there. */
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
