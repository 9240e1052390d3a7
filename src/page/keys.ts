/** Runs the action of a key, by `event.key`. Keys do nothing in text fields and dialogs, or together with Ctrl. */
export function onKeys(actions: Readonly<Record<string, () => void>>): void {
  document.addEventListener('keydown', (event) => {
    const target = event.target as Element
    const isWriting = target.closest('input, textarea, select, dialog') !== null
    const isPressing = event.key === 'Enter' && target.closest('button, summary') !== null
    if (isWriting || isPressing || event.ctrlKey || event.metaKey || event.altKey) return
    const act = actions[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  })
}

/** Moves the focus to the first field of the list's filter. */
export function focusFilter(): void {
  document.querySelector<HTMLElement>('[role=search] :is(input, select)')?.focus()
}
