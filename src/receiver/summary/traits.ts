import { type JsonObject, shortText } from '../../model/index.ts'
import type { SeenTrait, SummaryMemory, Trait } from './memory.ts'
import { change, pair, part, type Phrase } from './part.ts'
import { comparedCharacters } from './subject.ts'
import { valueText } from './value-text.ts'

/** How many traits a summary shows. It only counts the others. */
const shownMax = 4

/**
 * Formats a subject's traits: first those that changed in this run, as `plan: free → pro`, then new ones, then
 * unchanged ones.
 *
 * @param subject - the unique name of the user or group; undefined if there is no id
 */
export function traitPhrases(
  subject: string | undefined,
  traits: JsonObject,
  memory: SummaryMemory,
): readonly Phrase[] {
  const texts = Object.entries(traits).map(([key, value]) => ({
    key: shortText(key),
    text: valueText(value, comparedCharacters),
  }))
  const seen = subject === undefined ? unseen(texts) : memory.see(subject, texts)
  const shown = seen.toSorted((one, other) => rank(one) - rank(other)).slice(0, shownMax)
  const more = seen.length - shown.length
  return [...shown.map(phraseOf), more === 0 ? [] : [part('muted', `+${more} more`)]]
}

function unseen(traits: readonly Trait[]): readonly SeenTrait[] {
  return traits.map((trait) => ({ ...trait, before: undefined }))
}

function rank({ before, text }: SeenTrait): number {
  if (before === undefined) return 1
  return before === text ? 2 : 0
}

function phraseOf({ key, text, before }: SeenTrait): Phrase {
  return before === undefined || before === text
    ? pair(key, shortText(text))
    : change(key, shortText(before), shortText(text))
}
