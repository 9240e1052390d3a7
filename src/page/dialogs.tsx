import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { readSnippets } from './api.ts'
import { CloseButton, Dialog, type Dialogs } from './dialog.tsx'
import { Choice } from './field.tsx'
import type { PageParts } from './parts.ts'
import { ComposeDialog, EditDialog } from './request-dialogs.tsx'
import { useRead } from './use-read.ts'

export function ShownDialog({ session, dialogs }: PageParts): JSX.Element | null {
  const open = dialogs.open.value
  switch (open.kind) {
    case 'none':
      return null
    case 'edit':
      return <EditDialog record={open.record} {...{ session, dialogs }} />
    case 'compose':
      return <ComposeDialog {...{ session, dialogs }} />
    case 'handlers':
      return <HandlersDialog {...{ session, dialogs }} />
    case 'text':
      return (
        <Dialog title={open.title} dialogs={dialogs}>
          <textarea readOnly rows={8} aria-label={open.title} value={open.text} />
          <CloseButton dialogs={dialogs} />
        </Dialog>
      )
    case 'keys':
      return <KeysDialog dialogs={dialogs} />
  }
}

const keys = [
  ['j, k', 'older or newer request'],
  ['home, end', 'newest or oldest request in the list'],
  ['enter', 'read the request'],
  ['r', 'resend'],
  ['e', 'edit and resend'],
  ['c', 'copy as curl'],
  ['d', 'compare with a different request'],
  ['p', 'pause'],
  ['/', 'filter'],
  ['esc', 'close'],
] as const

function KeysDialog({ dialogs }: { readonly dialogs: Dialogs }): JSX.Element {
  return (
    <Dialog title="Keys" dialogs={dialogs}>
      <dl class="pairs">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <CloseButton dialogs={dialogs} />
    </Dialog>
  )
}

/** Shows handlers that verify signatures correctly. */
function HandlersDialog({ session, dialogs }: PageParts): JSX.Element {
  const reading = useRead(readSnippets, [])
  const [language, setLanguage] = useState('express')
  const snippets = reading.kind === 'read' ? reading.value : {}
  const code = snippets[language] ?? ''
  return (
    <Dialog title="A handler that verifies signatures" dialogs={dialogs}>
      {reading.kind === 'failed' ? <p class="problem">{reading.message}</p> : null}
      <Choice
        label="Language or framework"
        options={Object.keys(snippets)}
        chosen={language}
        onChange={({ currentTarget }) => setLanguage(currentTarget.value)}
      />
      <pre class="code" tabIndex={0} aria-label={`Handler for ${language}`}>
        {code}
      </pre>
      <div class="actions">
        <button type="button" class="primary" onClick={() => void session.copy('handler', code)}>
          Copy handler
        </button>
      </div>
      <CloseButton dialogs={dialogs} />
    </Dialog>
  )
}
