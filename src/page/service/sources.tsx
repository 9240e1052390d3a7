import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { SourceFields } from '../../admin-api/index.ts'
import { Button } from '../button.tsx'
import { copy } from '../copy.tsx'
import { Choice } from '../field.tsx'
import { Moment, Pair, Shown } from '../shown.tsx'
import { countText, visibleText } from '../text.ts'
import { usePolled } from '../use-read.ts'
import { read } from './api.ts'
import { destinationsPath } from './route.ts'
import { session } from './service-session.ts'
import { setupSnippets } from './setup-snippets.ts'
import { Table } from './table.tsx'

export function Sources(): JSX.Element {
  const reading = usePolled(() => read('v1/sources'), [session.version.value])
  return (
    <Shown reading={reading}>
      {({ url, sources }) => (
        <>
          <h2>Sources</h2>
          <p class="muted">
            Counted by this process since it started. To add a source, add it to the configuration
            file. The service reads the file again by itself.
          </p>
          {sources.map((source) => (
            <Source key={source.id} source={source} url={url} />
          ))}
        </>
      )}
    </Shown>
  )
}

interface Parts {
  readonly source: SourceFields
  readonly url: string
}

function Source({ source, url }: Parts): JSX.Element {
  const { id, enabled, destinations, archived, accepted, rejected, latestRejected } = source
  const codes = Object.entries(rejected)
  return (
    <section class="card entry" aria-label={`Source ${id}`}>
      <div class="detail-head">
        <h3>{id}</h3>
        <span class={`badge ${enabled ? '' : 'warning'}`}>
          {enabled ? '✓ enabled' : '– disabled'}
        </span>
      </div>
      <dl class="tiles">
        <Pair name="Accepted">
          {Object.entries(accepted)
            .map(([outcome, count]) => `${countText(count)} ${outcome}`)
            .join(', ')}
        </Pair>
        <Pair name="Rejected">
          {codes.length === 0
            ? 'none'
            : codes.map(([code, count]) => `${countText(count)} ${code}`).join(', ')}
        </Pair>
        <Pair name="Destinations">
          <a href={destinationsPath(id)}>{countText(destinations.length)}</a>
        </Pair>
        <Pair name="Archive">{archived ? 'on' : 'off'}</Pair>
      </dl>
      {latestRejected.length === 0 ? null : (
        <Table
          label={`Last rejected calls of ${id}`}
          columns={['Rejected', 'messageId', 'Code', 'Reason']}
          rows={latestRejected.map(({ at, messageId, code, message }, index) => ({
            key: String(index),
            cells: [
              at !== null && <Moment at={at} />,
              visibleText(messageId?.slice(0, 60) ?? ''),
              code,
              visibleText(message),
            ],
          }))}
          empty=""
        />
      )}
      <Setup source={source} url={url} />
    </section>
  )
}

function Setup({ source: { id, writeKeys }, url }: Parts): JSX.Element {
  const [chosen, choose] = useState(0)
  const snippets = setupSnippets(url, writeKeys[0] ?? '')
  const text = snippets[chosen]?.text ?? ''
  return (
    <details>
      <summary>Set up a program</summary>
      <div class="actions">
        <Choice
          label="Language"
          options={snippets.map(({ language }) => language)}
          chosen={snippets[chosen]?.language}
          onChange={({ currentTarget }) => choose(currentTarget.selectedIndex)}
        />
        <Button label="Copy" onClick={() => void copy('sample code', text)} />
      </div>
      <pre tabIndex={0} aria-label={`Set-up of ${id}`}>
        {text}
      </pre>
    </details>
  )
}
