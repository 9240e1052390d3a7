import { CaptureOutlet } from './capture-outlet.ts'
import { CapturePlanOutlet } from './capture-plan-outlet.ts'
import { DryOutlet, type Plan } from './dry-outlet.ts'
import type { Outlet, OutletParts, ServiceListener } from './outlet.ts'
import { ServiceOutlet } from './service-outlet.ts'
import { WebhookOutlet } from './webhook-outlet.ts'

/**
 * Opens the way out that the options ask for.
 *
 * @param planned - is told what would be sent, where nothing is sent
 * @throws EvrouteError `store_in_use` or `store_unusable`; SettingError for a URL that names no store
 */
export async function openOutlet(
  parts: OutletParts & { readonly listener: ServiceListener },
  planned: (plan: Plan) => void,
): Promise<Outlet> {
  const { target, dryRun } = parts.options
  if (target.kind === 'captured') {
    return dryRun
      ? new CapturePlanOutlet({ ...parts, target, planned })
      : new CaptureOutlet({ ...parts, target })
  }
  if (dryRun) return new DryOutlet({ ...parts, target, planned })
  switch (target.kind) {
    case 'webhooks':
      return WebhookOutlet.open({ ...parts, destination: target.destination })
    case 'service':
      return new ServiceOutlet({ ...parts, target })
  }
}
