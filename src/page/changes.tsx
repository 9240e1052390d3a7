import type { JSX } from 'preact'
import { readChanges } from './api.ts'
import { counted } from './text.ts'
import { useRead } from './use-read.ts'

/** How a payload differs from the previous one of the same user or group. */
export function Changes({ seq }: { readonly seq: number }): JSX.Element {
  const reading = useRead(() => readChanges(seq), [seq])
  if (reading.kind === 'loading') return <p class="muted">Comparing…</p>
  if (reading.kind === 'failed') return <p class="problem">{reading.message}</p>
  const { previous = null, changes = [], more = 0 } = reading.value ?? {}
  if (previous === null) return <p class="muted">There is no earlier event to compare with.</p>
  if (changes.length === 0) return <p class="muted">The same as #{previous}.</p>
  return (
    <>
      <p class="muted">Since #{previous}</p>
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
