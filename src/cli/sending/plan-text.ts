import { type JsonValue, plainText } from '../../model/index.ts'
import { formatJson } from '../output/json.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import type { Plan, PlanReason } from './dry-outlet.ts'

const reasons: Readonly<Record<PlanReason, string>> = {
  enabled_by_default: 'sent: all destinations are enabled by default',
  enabled_by_name: 'sent: "integrations" enables Webhooks by name',
  not_connected: 'not sent: the destination is not connected to this source',
  destination_disabled: 'not sent: the destination is off',
  disabled_by_name: 'not sent: "integrations" disables Webhooks by name',
  disabled_by_all: 'not sent: "integrations" disables All, and does not enable Webhooks',
  historical_not_accepted:
    'not sent: it is more than a day old, and the destination takes no history',
  duplicate: 'not sent: a call with this messageId came before',
}

/** A plan for a person: the decision, URLs, signature and body. */
export function planText(plan: Plan, style: Style): string {
  const { type, messageId, decision, urls, body, signature } = plan
  const lines = [`${style.strong(type.toUpperCase())} ${style.faint(plainText(messageId))}`]
  if (decision !== undefined) lines.push(`  ${reasons[decision.reason]}`)
  if (decision?.hint !== undefined) lines.push(`  ${style.warning(plainText(decision.hint))}`)
  if (body === null) return `${lines.join('\n')}\n\n`
  const bytes = formatCount(Buffer.byteLength(body))
  lines.push(...urls.map((url) => `  POST ${style.name(url)} ${style.faint(`(${bytes} bytes)`)}`))
  if (signature !== null) lines.push(`  X-Signature: ${signature}`)
  const indented = formatJson(JSON.parse(body) as JsonValue, style).replace(/^/gm, '  ')
  return `${lines.join('\n')}\n${indented}\n\n`
}
