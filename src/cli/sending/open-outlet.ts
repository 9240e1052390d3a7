import { DryOutlet, type Plan } from './dry-outlet.ts'
import type { Outlet, OutletParts, ServiceListener } from './outlet.ts'

/**
 * Opens the outlet for the options. Code that sends is imported on demand.
 *
 * @param planned - called with each plan of a dry run
 * @throws EvrouteError `store_in_use` or `store_unusable`; SettingError for an invalid store URL
 */
export async function openOutlet(
  parts: OutletParts & { readonly listener: ServiceListener },
  planned: (plan: Plan) => void,
): Promise<Outlet> {
  const { target, dryRun } = parts.options
  if (target.kind === 'captured') {
    if (dryRun) {
      const { CapturePlanOutlet } = await import('./capture-plan-outlet.ts')
      return new CapturePlanOutlet({ ...parts, target, planned })
    }
    const { CaptureOutlet } = await import('./capture-outlet.ts')
    return CaptureOutlet.open({ ...parts, target })
  }
  if (dryRun) {
    return new DryOutlet({ ...parts, target, planned })
  }
  switch (target.kind) {
    case 'webhooks': {
      const { WebhookOutlet } = await import('./webhook-outlet.ts')
      return WebhookOutlet.open({ ...parts, target })
    }
    case 'service': {
      const { ServiceOutlet } = await import('./service-outlet.ts')
      return new ServiceOutlet({ ...parts, target })
    }
  }
}
