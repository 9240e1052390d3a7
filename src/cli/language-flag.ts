import { SettingError } from '../model/index.ts'
import type { SnippetLanguage } from '../receiver/index.ts'

/** The value of `--language`, for help. */
export const languageNames = 'express, fastify, hono, go, python, php, ruby'

/**
 * Reads `--language`.
 *
 * @throws SettingError for an unsupported language
 */
export async function readLanguage(
  language: string | undefined,
): Promise<SnippetLanguage | undefined> {
  if (language === undefined) return undefined
  // Import here: most runs don't need the receiver.
  const { isSnippetLanguage, snippetLanguages } = await import('../receiver/index.ts')
  if (isSnippetLanguage(language)) return language
  throw new SettingError(
    '--language',
    `Cannot print a handler for "${language}"`,
    `It is one of ${snippetLanguages.join(', ')}.`,
  )
}
