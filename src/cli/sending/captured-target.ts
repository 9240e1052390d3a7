import { SettingError } from '../../model/index.ts'
import type { GivenSendingOptions, SendingTarget } from './sending-options.ts'
import type { TimeShiftBy } from './time-shift.ts'

/** The options that only apply to captured requests. */
export interface CaptureRequest {
  /** Whether the files contain captured requests. */
  readonly isCapture: boolean
  /** Whether to sign again: `--resign`. */
  readonly resign: boolean
  /** Whether `--secret` was given; EVROUTE_SECRET does not count. */
  readonly hasSecretFlag: boolean
  /** How to move timestamps: `--shift-time`. */
  readonly shiftBy: TimeShiftBy | undefined
}

/**
 * The target of `replay`. Refuses options that don't apply to captures, or don't apply to calls, rather than
 * ignoring them.
 *
 * @throws SettingError with the flag
 */
export function replayTarget(options: GivenSendingOptions, request: CaptureRequest): SendingTarget {
  const { isCapture, resign, hasSecretFlag, shiftBy } = request
  const { target } = options
  if (!isCapture) {
    refuseWithCalls(request)
    return target
  }
  if (target.kind === 'service') {
    const hint = 'Name their endpoint with --to, and leave out --endpoint and EVROUTE_ENDPOINT.'
    throw new SettingError('--endpoint', 'Cannot send captured webhooks to a service', hint)
  }
  refuseWithCapture(options)
  const { destination } = target
  if (!resign && hasSecretFlag) {
    const hint = 'Add --resign to sign again, or leave --secret out.'
    const message = 'Cannot use --secret: captured webhooks keep the signatures they came with'
    throw new SettingError('--secret', message, hint)
  }
  const { sharedSecret } = destination
  if (resign && sharedSecret === undefined) {
    const hint = 'Pass --secret <value>, @file or env:NAME, or set EVROUTE_SECRET.'
    throw new SettingError('--resign', 'Cannot sign again without a secret', hint)
  }
  return { kind: 'captured', destination, newSecret: resign ? sharedSecret : undefined, shiftBy }
}

/**
 * Refuses to move timestamps without signing again.
 *
 * @throws SettingError
 */
export function checkShift({ resign, shiftBy }: Pick<CaptureRequest, 'resign' | 'shiftBy'>): void {
  if (shiftBy === undefined || resign) return
  throw new SettingError(
    '--shift-time',
    'Cannot use --shift-time without --resign: no signature would fit its body any more',
    'Add --resign, with the --secret of the endpoint.',
  )
}

function refuseWithCalls({ resign }: CaptureRequest): void {
  if (!resign) return
  throw new SettingError(
    '--resign',
    'Cannot use --resign: the files hold calls, which are signed anyway',
    'What `listen --save` writes can be signed again.',
  )
}

/** Refuses flags that don't apply to captures. */
function refuseWithCapture({ target, store, flushAt, flushAfterMs }: GivenSendingOptions): void {
  if (target.kind === 'webhooks' && target.bodyStyle !== undefined) {
    const message = 'Cannot use --body-style with a capture: its bodies are sent byte for byte'
    throw new SettingError('--body-style', message, 'Leave it out, or send calls.')
  }
  if (store !== undefined) {
    const message = 'Cannot use --store with a capture: a store keeps no headers'
    throw new SettingError('--store', message, 'Leave it out; the capture is the store.')
  }
  if (flushAt === undefined && flushAfterMs === undefined) return
  const flag = flushAt === undefined ? '--flush-after' : '--flush-at'
  throw new SettingError(flag, `Cannot use ${flag} with a capture: its webhooks make no batches`)
}
