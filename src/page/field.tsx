import type { InputHTMLAttributes, JSX, SelectHTMLAttributes } from 'preact'

export function Field({
  label,
  ...input
}: InputHTMLAttributes & { readonly label: string }): JSX.Element {
  return (
    <label>
      {label}
      <input autocomplete="off" spellcheck={false} {...input} />
    </label>
  )
}

/** A select field with a label. If the choice is optional, the first option is "any". */
export function Choice({
  label,
  options,
  chosen,
  isOptional = false,
  ...select
}: SelectHTMLAttributes & {
  readonly label: string
  readonly options: readonly (string | number)[]
  readonly chosen?: string | number | undefined
  readonly isOptional?: boolean
}): JSX.Element {
  return (
    <label>
      {label}
      <select {...select}>
        {isOptional ? <option value="">any</option> : null}
        {options.map((option) => (
          <option key={option} selected={option === chosen}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Prevents the submission of a form. Returns its text fields that are not empty. */
export function filledFields(event: SubmitEvent): Readonly<Record<string, string>> {
  event.preventDefault()
  const fields = new FormData(event.currentTarget as HTMLFormElement)
  return Object.fromEntries(
    [...fields].filter((field): field is [string, string] => {
      return typeof field[1] === 'string' && field[1] !== ''
    }),
  )
}
