import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AudienceFields } from '../../admin-api/index.ts'
import { Button } from '../button.tsx'
import { Field, filledFields } from '../field.tsx'
import { Moment, Part, Shown } from '../shown.tsx'
import { counted, countText, visibleText } from '../text.ts'
import { usePolled, useRead } from '../use-read.ts'
import { pageRows, read } from './api.ts'
import { audiencePath } from './route.ts'
import { session } from './service-session.ts'
import { Pager, Table } from './table.tsx'

export function Audiences(): JSX.Element {
  const reading = usePolled(() => read('v1/audiences'), [session.version.value])
  return (
    <>
      <h2>Audiences</h2>
      <Shown reading={reading}>
        {({ audiences }) => (
          <Table
            label="Audiences"
            columns={['Name', 'Key', 'Kind', 'Source', 'Members', 'Synced', '']}
            empty="There is no audience. Sync a list of users to make one."
            rows={audiences.map(row)}
          />
        )}
      </Shown>
      <Part title="Sync with a list">
        <SyncForm />
      </Part>
    </>
  )
}

function row(audience: AudienceFields) {
  const { key, name, source, members, syncedAt } = audience
  return {
    key,
    cells: [
      <a href={audiencePath(key)}>{visibleText(name)}</a>,
      key,
      audience.class === 'trait' ? 'computed trait' : 'audience',
      source,
      countText(members),
      syncedAt === null ? 'never' : <Moment at={syncedAt} />,
      <Button
        label={`Remove ${visibleText(name)}`}
        onClick={() => void session.proposeRemoval(key)}
      />,
    ],
  }
}

function SyncForm(): JSX.Element {
  const submit = (event: SubmitEvent): void => {
    const { name = '', source = '' } = filledFields(event)
    const list = new FormData(event.currentTarget as HTMLFormElement).get('list')
    if (list instanceof File) void session.proposeSync({ name, source }, list)
  }
  return (
    <form class="conditions" onSubmit={submit}>
      <Field label="Name" name="name" required />
      <Field label="Source" name="source" placeholder="if there are several" />
      <Field label="List (CSV, NDJSON or JSON)" name="list" type="file" required />
      <Button label="Compare" type="submit" class="primary" />
    </form>
  )
}

export function AudienceMembers({ id }: { readonly id: string }): JSX.Element {
  const [after, turn] = useState<string | undefined>(undefined)
  const reading = useRead(
    () => read(`v1/audiences/${encodeURIComponent(id)}`, { after, limit: pageRows }),
    [after, session.version.value],
  )
  return (
    <Shown reading={reading}>
      {({ name, members, memberList, next }) => (
        <>
          <h2>{visibleText(name)}</h2>
          <p class="muted">{counted(members, 'member')}</p>
          <Table
            label={`Members of ${visibleText(name)}`}
            columns={['userId', 'anonymousId', 'Email', 'Value']}
            empty="There are no members."
            rows={memberList.map(({ userId, anonymousId, email, value }, index) => ({
              key: String(index),
              cells: [
                ...[userId, anonymousId, email].map((id) => visibleText(id ?? '')),
                visibleText(JSON.stringify(value)),
              ],
            }))}
          />
          <Pager cursor={after} next={next} turn={turn} />
        </>
      )}
    </Shown>
  )
}
