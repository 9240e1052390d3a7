import type { JSX } from 'preact'

/** A select field whose first option is "any". */
export function Choice({
  name,
  label,
  options,
  chosen = '',
}: {
  readonly name: string
  readonly label: string
  readonly options: readonly string[]
  readonly chosen?: string | undefined
}): JSX.Element {
  return (
    <label>
      {label}
      <select name={name}>
        <option value="">any</option>
        {options.map((option) => (
          <option key={option} selected={option === chosen}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}
