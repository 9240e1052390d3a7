import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from './button.tsx'
import { withQuery } from './http.ts'
import { session } from './session.ts'
import { counted, countText } from './text.ts'

/** Buttons that open a capture, and save the matching requests as a capture. */
export function CaptureButtons(): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <button type="button" class="push" onClick={() => input.current?.click()}>
        Open<span class="word"> capture</span>
      </button>
      <input
        ref={input}
        type="file"
        hidden
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? []
          if (file !== undefined) void session.openCapture(file)
          currentTarget.value = ''
        }}
      />
      <a
        class="button"
        href={withQuery('events', { match: session.filter.value })}
        download="capture.ndjson"
      >
        Save<span class="word"> capture</span>
      </a>
    </>
  )
}

export function CaptureBanner(): JSX.Element | null {
  const { value: capture } = session.capture
  if (capture === undefined) return null
  const { file, summaries, read, badRows } = capture
  const shown = summaries.length
  return (
    <p class="banner" role="status">
      Showing {file.name}: {shown === read ? '' : `${countText(shown)} of `}
      {counted(read, 'request')}
      {badRows === 0 ? '' : `, ${counted(badRows, 'unreadable line')}`}.{' '}
      <Button label="Back to live" class="link" onClick={() => session.closeCapture()} />
    </p>
  )
}

/** Opens a capture file that is dropped anywhere on the page. */
export function openDroppedCaptures(): void {
  document.addEventListener('dragover', (event) => event.preventDefault())
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    const [file] = event.dataTransfer?.files ?? []
    if (file !== undefined) void session.openCapture(file)
  })
}
