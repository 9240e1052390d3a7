import type { InputHTMLAttributes, JSX } from 'preact'

/** A text field with a label. The browser neither completes nor corrects it. */
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
