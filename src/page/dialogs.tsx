import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { read } from './api.ts'
import { Button } from './button.tsx'
import { copy } from './copy.tsx'
import { dialog, Dialog, ReadDialog } from './dialog.tsx'
import { Choice } from './field.tsx'
import { ComposeDialog, EditDialog } from './request-dialogs.tsx'

export function ShownDialog(): JSX.Element | null {
  const { value: open } = dialog
  switch (open?.kind) {
    case undefined:
      return null
    case 'edit':
      return <EditDialog record={open.record} />
    case 'compose':
      return <ComposeDialog />
    case 'handlers':
      return <HandlersDialog />
    case 'keys':
      return <KeysDialog />
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

function KeysDialog(): JSX.Element {
  return (
    <Dialog title="Keys">
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
    </Dialog>
  )
}

function HandlersDialog(): JSX.Element {
  const [language, setLanguage] = useState('express')
  return (
    <ReadDialog title="A handler that verifies signatures" read={() => read('snippets')}>
      {({ snippets }) => (
        <>
          <Choice
            label="Language or framework"
            options={Object.keys(snippets)}
            chosen={language}
            onChange={({ currentTarget }) => setLanguage(currentTarget.value)}
          />
          <pre tabIndex={0} aria-label={`Handler for ${language}`}>
            {snippets[language]}
          </pre>
          <div class="actions">
            <Button
              label="Copy handler"
              class="primary"
              onClick={() => void copy('handler', snippets[language] ?? '')}
            />
          </div>
        </>
      )}
    </ReadDialog>
  )
}
