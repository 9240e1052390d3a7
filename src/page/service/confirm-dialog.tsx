import type { JSX } from 'preact'
import { Dialog } from '../dialog.tsx'
import { pendingCount, type ServiceSession } from './service-session.ts'

const texts = {
  retry: {
    verb: 'Retry',
    consequence: 'Each is due at once and gets a new retry window. Endpoints may get it again.',
  },
  discard: {
    verb: 'Discard',
    consequence:
      'They end as failed without being sent, with the reason "discarded". You can retry them later.',
  },
} as const

/** Asks before something is done to deliveries. */
export function ConfirmDialog({
  session,
}: {
  readonly session: ServiceSession
}): JSX.Element | null {
  const { value: pending } = session.pending
  if (pending === undefined) return null
  const { verb, consequence } = texts[pending.action]
  const close = (): void => {
    session.pending.value = undefined
  }
  return (
    <Dialog title={`${verb} ${pendingCount(pending)}?`} dialogs={{ close }}>
      <p>{consequence}</p>
      <div class="actions">
        <button type="button" class="primary" onClick={() => void session.confirm(pending)}>
          {verb}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
