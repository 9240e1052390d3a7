import { Help } from 'commander'

/** Wraps text between words. Lines after the first are indented. An undefined width is no limit. */
export function wrapText(text: string, columns = Infinity, indent = ''): string {
  const help = Object.assign(new Help(), { minWidthToWrap: 1 })
  return help.boxWrap(text, columns - indent.length).replaceAll('\n', `\n${indent}`)
}
