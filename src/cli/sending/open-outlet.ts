import { DryOutlet, type Plan } from './dry-outlet.ts'
import type { Outlet, OutletParts, ServiceListener } from './outlet.ts'
import { ServiceOutlet } from './service-outlet.ts'
import { WebhookOutlet } from './webhook-outlet.ts'

/**
 * Opens the way out that the options ask for.
 *
 * @param planned - is told what would be sent, where nothing is sent
 */
export function openOutlet(
  parts: OutletParts & { readonly listener: ServiceListener },
  planned: (plan: Plan) => void,
): Outlet {
  const { target, dryRun } = parts.options
  if (dryRun) return new DryOutlet({ ...parts, target, planned })
  switch (target.kind) {
    case 'webhooks':
      return new WebhookOutlet({ ...parts, destination: target.destination })
    case 'service':
      return new ServiceOutlet({ ...parts, target })
  }
}
