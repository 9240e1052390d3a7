import type { ButtonHTMLAttributes, JSX } from 'preact'

/** A button with a text. It submits its form only if its type is `submit`. */
export function Button({
  label,
  ...button
}: ButtonHTMLAttributes & { readonly label: string }): JSX.Element {
  return (
    <button type="button" {...button}>
      {label}
    </button>
  )
}
