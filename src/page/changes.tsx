import type { JSX } from 'preact'
import { readChanges } from './api.ts'
import { counted } from './text.ts'
import { useRead } from './use-read.ts'

/** How a payload differs from another one; by default, from the previous one of the same user or group. */
export function Changes({
  seq,
  other,
}: {
  readonly seq: number
  readonly other?: number
}): JSX.Element {
  const reading = useRead(() => readChanges(seq, other), [seq, other])
  if (reading.kind === 'loading') return <p class="muted">Comparing…</p>
  if (reading.kind === 'failed') return <p class="problem">{reading.message}</p>
  if (reading.value === undefined) {
    return <p class="muted">The receiver no longer keeps both requests.</p>
  }
  const { previous, changes, more } = reading.value
  if (previous === null) return <p class="muted">There is no earlier event to compare with.</p>
  if (changes.length === 0) return <p class="muted">The payload is the same as in #{previous}.</p>
  return (
    <>
      <p class="muted">
        From #{previous} to #{seq}
      </p>
      <dl class="pairs changes">
        {changes.map(({ path, before, after }) => (
          <div key={path}>
            <dt>{path}</dt>
            <dd>
              {before === null ? <span class="muted">absent</span> : <del>{before}</del>}
              <span class="muted"> → </span>
              {after === null ? <span class="muted">absent</span> : <ins>{after}</ins>}
            </dd>
          </div>
        ))}
      </dl>
      {more === 0 ? null : <p class="muted">{counted(more, 'more change')} not shown</p>}
    </>
  )
}
