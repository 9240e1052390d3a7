import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RegulationType } from '../../model/index.ts'
import { Button } from '../button.tsx'
import { filledFields } from '../field.tsx'
import { Moment, Part, Shown } from '../shown.tsx'
import { countText } from '../text.ts'
import { usePolled } from '../use-read.ts'
import { pageRows, read } from './api.ts'
import { session } from './service-session.ts'
import { Pager, Table } from './table.tsx'

const meanings: Readonly<Record<RegulationType, string>> = {
  DELETE_ONLY: 'delete here and at destinations',
  SUPPRESS_WITH_DELETE: 'delete here and at destinations, and drop later calls',
  DELETE_INTERNAL: 'delete here',
  SUPPRESS_WITH_DELETE_INTERNAL: 'delete here, and drop later calls',
  DELETE_ARCHIVE_ONLY: 'delete from archives',
  SUPPRESS_ONLY: 'drop later calls',
  UNSUPPRESS: 'accept calls again',
}

export function Deletions(): JSX.Element {
  const [before, turn] = useState<string | undefined>(undefined)
  const reading = usePolled(
    () => read('v1/regulations', { before, limit: pageRows }),
    [before, session.version.value],
  )
  return (
    <>
      <h2>Deletions</h2>
      <Shown reading={reading}>
        {({ regulations, next }) => (
          <>
            <Table
              label="Deletion requests"
              columns={['Request', 'Type', 'Status', 'Users', 'Deliveries erased', 'Requested']}
              empty="There is no deletion request."
              rows={regulations.map((each) => ({
                key: each.id,
                cells: [
                  each.id,
                  each.regulationType,
                  each.overallStatus,
                  countText(each.subjects),
                  countText(each.erased.pending + each.erased.settled),
                  each.createdAt !== null && <Moment at={each.createdAt} />,
                ],
              }))}
            />
            <Pager cursor={before} next={next} turn={turn} />
          </>
        )}
      </Shown>
      <Part title="Request a deletion">
        <DeletionForm />
      </Part>
    </>
  )
}

function DeletionForm(): JSX.Element {
  const submit = (event: SubmitEvent): void => {
    const { type = '', users = '' } = filledFields(event)
    const subjectIds = users.split('\n').map((line) => line.trim())
    session.proposeDeletion(
      type as RegulationType,
      subjectIds.filter((id) => id !== ''),
    )
  }
  return (
    <form class="conditions" onSubmit={submit}>
      <label>
        Type
        <select name="type">
          {Object.entries(meanings).map(([type, meaning]) => (
            <option key={type} value={type}>
              {meaning}
            </option>
          ))}
        </select>
      </label>
      <label>
        userIds, one per line
        <textarea name="users" rows={3} required spellcheck={false} />
      </label>
      <Button label="Request" type="submit" class="primary" />
    </form>
  )
}
