import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Button } from './button.tsx'
import { Part } from './shown.tsx'
import { counted, countText, visibleText } from './text.ts'

/** The number of levels that are open initially. */
const openLevels = 4
/** About this many members are shown initially in the whole tree, because a body of 1 MB can have 100,000. */
const shownAtOnce = 1_000
/** Maximum members of an object or a list to show initially. A button adds ten times as many. */
const membersAtOnce = 100
const charactersAtOnce = 1_000

/** Called with a value and the path of keys to it. */
type Choose = (keys: readonly string[], value: unknown) => void

interface PayloadParts {
  readonly title: string
  readonly value: unknown
  /** Called when the key of a value is clicked; by default, keys are not buttons. */
  readonly choose?: Choose | undefined
}

export function Payload({ title, value, choose }: PayloadParts): JSX.Element {
  const search = useSignal('')
  const wanted = search.value.toLowerCase()
  const shown = wanted === '' ? value : partsWith(wanted, value)
  const field = (
    <input
      type="search"
      class="search"
      aria-label="Search the payload"
      placeholder="Search"
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) => (search.value = currentTarget.value.trim())}
    />
  )
  return (
    <Part title={title} aside={field}>
      {shown === undefined ? (
        <p class="muted">No key or value contains this text.</p>
      ) : (
        <div class="tree" key={wanted}>
          <Value
            value={shown}
            keys={[]}
            room={shownAtOnce}
            isFound={wanted !== ''}
            choose={choose}
          />
        </div>
      )}
    </Part>
  )
}

/** Returns the members whose key or value contains a text, with their parents; undefined if there are none. */
function partsWith(wanted: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    return String(value).toLowerCase().includes(wanted) ? value : undefined
  }
  const found: [string, unknown][] = []
  for (const [key, member] of Object.entries(value)) {
    const part: unknown = key.toLowerCase().includes(wanted) ? member : partsWith(wanted, member)
    if (part !== undefined) found.push([key, part])
  }
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

interface Branch {
  readonly value: unknown
  /** The path of keys from the root. */
  readonly keys: readonly string[]
  /** How many members may be shown initially. */
  readonly room: number
  /** Whether the tree shows the result of a search. Deep levels are then open too. */
  readonly isFound: boolean
  readonly choose: Choose | undefined
}

/** Whether a value has members to open. */
function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function Value(branch: Branch): JSX.Element {
  const { value } = branch
  if (isBranch(value)) return <Members {...branch} value={value} />
  return (
    <div class="leaf">
      <Name {...branch} />
      <Leaf value={value} />
    </div>
  )
}

/** An object or a list. Its members are in the document only while it is open. */
function Members(branch: Branch & { readonly value: object }): JSX.Element {
  const { value, keys, room, isFound, choose } = branch
  const isList = Array.isArray(value)
  const names = Object.keys(value)
  const count = Math.min(names.length, membersAtOnce)
  const isOpen = useSignal(count <= room && (isFound || keys.length < openLevels))
  const limit = useSignal(membersAtOnce)
  const omitted = names.length - limit.value
  return (
    <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Name {...branch} />
        <span class="muted">
          {isList ? '[ ]' : '{ }'} {counted(names.length, isList ? 'element' : 'key')}
        </span>
      </summary>
      {isOpen.value ? (
        <div class="members">
          {names.slice(0, limit.value).map((name) => (
            <Value
              key={name}
              value={(value as Record<string, unknown>)[name]}
              keys={[...keys, name]}
              room={room / count}
              {...{ isFound, choose }}
            />
          ))}
          {omitted > 0 ? (
            <Button
              label={`Show more (${countText(omitted)} left)`}
              class="link"
              onClick={() => (limit.value += membersAtOnce * 10)}
            />
          ) : null}
        </div>
      ) : null}
    </details>
  )
}

function Name({ value, keys, choose }: Branch): JSX.Element | null {
  const name = keys.at(-1)
  if (name === undefined) return null
  const text = visibleText(name.slice(0, charactersAtOnce))
  // The key of a branch is not a button: it is in a <summary>, and a click there opens the branch.
  return (
    <>
      {choose === undefined || isBranch(value) ? (
        <span class="name">{text}</span>
      ) : (
        <Button
          label={text}
          class="name"
          title="Copy as a condition"
          onClick={() => choose(keys, value)}
        />
      )}
      <span class="muted">: </span>
    </>
  )
}

function Leaf({ value }: { readonly value: unknown }): JSX.Element {
  const isWhole = useSignal(false)
  if (typeof value === 'object' && value !== null) {
    return <span class="muted">{Array.isArray(value) ? '[ ]' : '{ }'}</span>
  }
  if (typeof value !== 'string') return <span class={typeof value}>{String(value)}</span>
  const isShort = isWhole.value || value.length <= charactersAtOnce
  return (
    <span class="string">
      "{visibleText(isShort ? value : value.slice(0, charactersAtOnce))}
      {isShort ? '"' : '…'}
      {isShort ? null : (
        <Button
          label={`Show all ${countText(value.length)} characters`}
          class="link"
          onClick={() => (isWhole.value = true)}
        />
      )}
    </span>
  )
}
