import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Opens a text in $VISUAL or $EDITOR, and returns it after the editor ends. If the editor fails, the text is
 * unchanged.
 *
 * @throws an error if the editor cannot be started
 */
export async function editText(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const editor = env['VISUAL'] || env['EDITOR'] || (process.platform === 'win32' ? 'notepad' : 'vi')
  const folder = await mkdtemp(join(tmpdir(), 'evroute-edit-'))
  const path = join(folder, 'body.json')
  try {
    await writeFile(path, text, { mode: 0o600 })
    // A shell, because the variable may have arguments, as in `code --wait`.
    const child = spawn(`${editor} "${path}"`, { shell: true, stdio: 'inherit' })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) return text
    const edited = await readFile(path, 'utf8')
    // Editors end the last line, which a body does not have.
    return text.endsWith('\n') ? edited : edited.replace(/\r?\n$/, '')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
