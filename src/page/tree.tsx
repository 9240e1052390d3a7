import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { countText, visibleText } from './text.ts'

/** Levels that are open at first. */
const openLevels = 3
/** Members that are shown at once; a button shows as many more. */
const membersAtOnce = 100
/** Characters of a text that are shown at once. */
const charactersAtOnce = 1_000

/** A JSON value that can be opened level by level. What is closed is not in the document. */
export function Tree({ value }: { readonly value: unknown }): JSX.Element {
  return (
    <div class="tree">
      <Value value={value} level={0} />
    </div>
  )
}

interface Branch {
  readonly name?: string | undefined
  readonly value: unknown
  readonly level: number
}

function Value({ name, value, level }: Branch): JSX.Element {
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    )
  }
  return <Members name={name} value={value} level={level} />
}

function Members({ name, value, level }: Branch & { readonly value: object }): JSX.Element {
  const isOpen = useSignal(level < openLevels)
  const limit = useSignal(membersAtOnce)
  const isList = Array.isArray(value)
  const keys = Object.keys(value)
  const size = `${countText(keys.length)} ${isList ? 'element' : 'key'}${keys.length === 1 ? '' : 's'}`
  const left = keys.length - limit.value
  return (
    <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="muted">
          {isList ? '[ ]' : '{ }'} {size}
        </span>
      </summary>
      {isOpen.value ? (
        <div class="members">
          {keys.slice(0, limit.value).map((key) => (
            <Value
              key={key}
              name={key}
              value={(value as Record<string, unknown>)[key]}
              level={level + 1}
            />
          ))}
          {left > 0 ? (
            <button type="button" class="link" onClick={() => (limit.value += membersAtOnce * 10)}>
              Show more ({countText(left)} left)
            </button>
          ) : null}
        </div>
      ) : null}
    </details>
  )
}

function Name({ name }: { readonly name: string | undefined }): JSX.Element | null {
  if (name === undefined) return null
  return (
    <>
      <span class="key">{visibleText(name.slice(0, charactersAtOnce))}</span>
      <span class="muted">: </span>
    </>
  )
}

function Leaf({ value }: { readonly value: unknown }): JSX.Element {
  const isWhole = useSignal(false)
  if (typeof value !== 'string') return <span class={typeof value}>{String(value)}</span>
  const isShort = isWhole.value || value.length <= charactersAtOnce
  return (
    <span class="string">
      "{visibleText(isShort ? value : value.slice(0, charactersAtOnce))}
      {isShort ? '"' : '…'}
      {isShort ? null : (
        <button type="button" class="link" onClick={() => (isWhole.value = true)}>
          Show all {countText(value.length)} characters
        </button>
      )}
    </span>
  )
}
