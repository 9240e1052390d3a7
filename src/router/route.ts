import {
  webhooksDestinationName,
  type AnalyticsEvent,
  type Destination,
  type JsonObject,
} from '../model/index.ts'

/** Why a destination gets an event, or does not. */
export type RoutingReason =
  | 'enabled_by_default'
  | 'enabled_by_name'
  | 'not_connected'
  | 'destination_disabled'
  | 'disabled_by_name'
  | 'disabled_by_all'
  | 'historical_not_accepted'
  | 'filter_not_matched'

/** The router's decision for one destination. */
export interface RoutingDecision {
  readonly destinationId: string
  readonly send: boolean
  /** The rule that decided the outcome. */
  readonly reason: RoutingReason
  /** A likely mistake in the call, or why the filter doesn't match. */
  readonly hint: string | undefined
}

/** Decides for every destination whether an event is sent to it, and why, in the order of the destinations. */
export function route(
  event: AnalyticsEvent,
  destinations: readonly Destination[],
): readonly RoutingDecision[] {
  const choice = integrationsChoice(event.integrations)
  return destinations.map((destination) => {
    const reason = decide(event, destination, choice)
    return {
      destinationId: destination.id,
      send: reason === 'enabled_by_default' || reason === 'enabled_by_name',
      reason,
      hint: choice.hint,
    }
  })
}

function decide(
  event: AnalyticsEvent,
  destination: Destination,
  choice: IntegrationsChoice,
): RoutingReason {
  if (!destination.sourceIds.includes(event.sourceId)) return 'not_connected'
  if (!destination.enabled) return 'destination_disabled'
  if (choice.reason === 'disabled_by_name' || choice.reason === 'disabled_by_all') {
    return choice.reason
  }
  if (event.historical && !destination.acceptsHistorical) return 'historical_not_accepted'
  const { filter } = destination
  // A deletion request goes to every destination that may have the user's data.
  if (filter !== undefined && event.type !== 'delete' && !filter.takes(event)) {
    return 'filter_not_matched'
  }
  return choice.reason
}

/** The meaning of a call's `integrations` for webhook destinations. */
interface IntegrationsChoice {
  readonly reason: 'enabled_by_default' | 'enabled_by_name' | 'disabled_by_name' | 'disabled_by_all'
  readonly hint: string | undefined
}

/**
 * Reads `integrations`. The destination's own key decides, then `All`, then the default, which is to send. Any value
 * except `false` enables a destination, so an object of options does too. A widely used client writes `all` in lower
 * case, which counts only if `All` is absent.
 */
function integrationsChoice(integrations: JsonObject): IntegrationsChoice {
  const hint = misspelling(integrations)
  if (Object.hasOwn(integrations, webhooksDestinationName)) {
    const enabled = integrations[webhooksDestinationName] !== false
    return { reason: enabled ? 'enabled_by_name' : 'disabled_by_name', hint }
  }
  const all = ['All', 'all'].find((name) => Object.hasOwn(integrations, name))
  const disabled = all !== undefined && integrations[all] === false
  return { reason: disabled ? 'disabled_by_all' : 'enabled_by_default', hint }
}

function misspelling(integrations: JsonObject): string | undefined {
  if (Object.hasOwn(integrations, webhooksDestinationName)) return undefined
  const key = Object.keys(integrations).find((name) => /^webhooks?(?: \(actions\))?$/i.test(name))
  if (key === undefined) return undefined
  return `The key "${key}" has no effect: keys are case sensitive, and the key of this destination is "${webhooksDestinationName}"`
}
