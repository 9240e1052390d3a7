import type { EventType, JsonObject } from '../../model/index.ts'
import { aliasPhrases } from './alias.ts'
import { deletePhrases } from './delete.ts'
import { groupPhrases } from './group.ts'
import { identifyPhrases } from './identify.ts'
import type { SummaryMemory } from './memory.ts'
import { pagePhrases } from './page.ts'
import { joinPhrases, type Phrase, type SummaryPart } from './part.ts'
import { screenPhrases } from './screen.ts'
import { trackPhrases } from './track.ts'

/** Types whose summary depends on earlier webhooks. */
export const typesOfMemory: ReadonlySet<EventType> = new Set([
  'identify',
  'group',
  'alias',
  'delete',
])

/** A body to summarise: a received webhook, or any body with its type. */
export interface Summarisable {
  /** The type of the webhook. */
  readonly type: EventType
  /** The parsed body. Its fields may have any type. */
  readonly body: JsonObject
}

/**
 * Summarises a webhook in one line, each type in its own form. The line leaves out type and user, because callers show
 * them beside it. Only alias, group and delete include the user.
 *
 * Never throws. Texts from the body are made plain, and cut at 60 characters.
 *
 * @param memory - the memory of earlier summaries, to which this webhook is added
 */
export function summarise(webhook: Summarisable, memory: SummaryMemory): readonly SummaryPart[] {
  return joinPhrases(phrasesOf(webhook, memory))
}

function phrasesOf({ type, body }: Summarisable, memory: SummaryMemory): readonly Phrase[] {
  switch (type) {
    case 'identify':
      return identifyPhrases(body, memory)
    case 'track':
      return trackPhrases(body)
    case 'page':
      return pagePhrases(body)
    case 'screen':
      return screenPhrases(body)
    case 'group':
      return groupPhrases(body, memory)
    case 'alias':
      return aliasPhrases(body, memory)
    case 'delete':
      return deletePhrases(body)
  }
}
