import type { JsonObject } from '../../model/index.ts'
import { id, part, type Phrase } from './part.ts'
import { textOf } from './value-text.ts'

/** `anon_9 → u_42`. */
export function aliasPhrases(body: JsonObject): readonly Phrase[] {
  const previousId = textOf(body, 'Previous ID') ?? textOf(body, 'previousId')
  const userId = textOf(body, 'User ID') ?? textOf(body, 'userId')
  return [[id(previousId), part('arrow', ' → '), id(userId)]]
}
