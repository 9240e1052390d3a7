import type { JsonObject } from '../../model/index.ts'
import { id, part, type Phrase } from './part.ts'
import { textOf } from './value-text.ts'

/** Formats `⚠ delete user u_1`. */
export function deletePhrases(body: JsonObject): readonly Phrase[] {
  return [[part('warning', '⚠ delete user')], [id(textOf(body, 'userId'))]]
}
