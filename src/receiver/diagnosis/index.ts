/** Explains wrong signatures by trying known mistakes, one after another. Pure. */
export { diagnose, Diagnostician } from './diagnostician.ts'
export type { NamedSecret, Secrets } from './key-recipes.ts'
export type { Diagnosis, MistakeCode } from './mistake.ts'
export { isSnippetLanguage, snippetLanguages, snippets, type SnippetLanguage } from './snippets.ts'
export { SuspectBody, type SuspectRequest } from './suspect.ts'
