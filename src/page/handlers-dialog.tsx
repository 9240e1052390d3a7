import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { readSnippets } from './api.ts'
import { CloseButton, Dialog } from './dialog.tsx'
import type { PageParts } from './parts.ts'
import { useRead } from './use-read.ts'

/** Code of handlers that verify signatures correctly, to copy. */
export function HandlersDialog({ session, dialogs }: PageParts): JSX.Element {
  const reading = useRead(readSnippets, [])
  const [language, setLanguage] = useState('express')
  const snippets = reading.kind === 'read' ? reading.value : {}
  const code = snippets[language] ?? ''
  return (
    <Dialog title="A handler that verifies signatures" dialogs={dialogs}>
      {reading.kind === 'failed' ? <p class="problem">{reading.message}</p> : null}
      <label>
        Language or framework
        <select onChange={({ currentTarget }) => setLanguage(currentTarget.value)}>
          {Object.keys(snippets).map((each) => (
            <option key={each} selected={each === language}>
              {each}
            </option>
          ))}
        </select>
      </label>
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
