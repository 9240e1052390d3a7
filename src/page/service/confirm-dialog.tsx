import type { JSX } from 'preact'
import { Dialog } from '../dialog.tsx'
import type { ServiceParts } from './service-session.ts'

/** Asks a person to confirm an action. */
export function ConfirmDialog({ session }: ServiceParts): JSX.Element | null {
  const { value: proposal } = session.proposal
  if (proposal === undefined) return null
  const { title, verb, consequence } = proposal
  const close = (): void => {
    session.proposal.value = undefined
  }
  return (
    <Dialog title={title} dialogs={{ close }}>
      <p>{consequence}</p>
      <div class="actions">
        <button type="button" class="primary" onClick={() => void session.confirm(proposal)}>
          {verb}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
