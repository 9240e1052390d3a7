import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describedProgram, subcommandsOf } from './reference/commands.ts'

const path = resolve(import.meta.dirname, '../../docs/evroute.1')
const text = await readFile(path, 'utf8')
const hasMan = spawnSync('man', ['--version']).status === 0

describe('the manual page', () => {
  test('has its sections, and every command', async () => {
    const sections = [...text.matchAll(/^\.SH (.+)$/gm)].map(([, title]) => title)
    expect(sections).toEqual([
      ...['NAME', 'SYNOPSIS', 'DESCRIPTION', 'COMMANDS', 'EXIT STATUS', 'FILES'],
    ])
    const commands = subcommandsOf(await describedProgram())
    for (const command of commands) expect(text).toContain(`\n.SS "evroute ${command.name()}"\n`)
  })

  test('uses only requests of the man macros, and plain characters', () => {
    const requests = new Set([...text.matchAll(/^[.'](\S*)/gm)].map(([, name]) => name))
    expect([...requests].sort()).toEqual(
      ['\\"', 'B', 'I', 'PP', 'SH', 'SS', 'TH', 'TP', 'fi', 'nf'].sort(),
    )
    expect(text).toMatch(/^[\n\x20-\x7e]*$/)
  })

  test.runIf(hasMan)('is shown by man without warnings', () => {
    const { stdout, stderr } = spawnSync('man', ['--warnings', '-l', '-Tutf8', path], {
      encoding: 'utf8',
      env: { ...process.env, MANROFFSEQ: '', LC_ALL: 'C.UTF-8' },
    })
    expect(stderr).toBe('')
    expect(stdout).toContain('--allow-send')
    expect(stdout).toContain("--expect 'type:track x3..'")
  })
})
