import { describe, expect, test } from 'vitest'
import { BottomLine } from '../../../src/cli/terminal/bottom-line.ts'
import { ManualClock } from '../../../src/runtime/index.ts'
import { CapturedStream } from '../../support/io.ts'

const erase = '\r\u001b[J'

/** A line on a stream of 20 columns, and the output since the last call of `written`. */
function openLine(text: (columnsMax: number) => string = () => 'h') {
  const stream = new CapturedStream({ isTTY: true, columns: 20 })
  const clock = new ManualClock(1_000)
  const line = new BottomLine({ stream, clock, text })
  const above = line.over(stream)
  const written = (): string => {
    const { text: all } = stream
    stream.text = ''
    return all
  }
  line.open()
  return { line, above, clock, written }
}

describe('the bottom line', () => {
  test('disappears before text is written, and is drawn again below it', async () => {
    const { above, clock, written } = openLine()
    expect(written()).toBe('h')
    above.write('one\n')
    expect(written()).toBe(`${erase}one\n`)
    await clock.advance(100)
    expect(written()).toBe('h')
  })

  test('is drawn at most ten times a second, even during endless output', async () => {
    const { above, clock, written } = openLine()
    written()
    for (let line = 0; line < 100; line++) {
      above.write('x\n')
      await clock.advance(10)
    }
    expect(written().split('h')).toHaveLength(11)
  })

  test('is drawn at once after a long silence', async () => {
    const { above, clock, written } = openLine()
    await clock.advance(5_000)
    above.write('one\n')
    await clock.advance(0)
    expect(written()).toBe(`h${erase}one\nh`)
  })

  test('waits until an incomplete line ends', async () => {
    const { line, above, clock, written } = openLine()
    written()
    above.write('half ')
    await clock.advance(1_000)
    line.draw()
    above.write('whole\n')
    await clock.advance(1_000)
    expect(written()).toBe(`${erase}half whole\nh`)
  })

  test('is a column narrower than the terminal, which leaves room for the cursor', () => {
    const widths: number[] = []
    const { written } = openLine((columnsMax) => {
      widths.push(columnsMax)
      return 'abc'
    })
    expect(widths).toEqual([19])
    expect(written()).toBe('abc')
  })

  test('is hidden while the window is resized', async () => {
    const { line, clock, written } = openLine()
    written()
    line.resized()
    line.resized()
    expect(written()).toBe(erase)
    await clock.advance(250)
    expect(written()).toBe('h')
  })

  test('clearing scrolls earlier output out of sight', () => {
    const { line, written } = openLine()
    written()
    line.clear(3)
    expect(written()).toBe(`${erase}\n\n\n\u001b[H\u001b[Jh`)
  })

  test('is not drawn after its end, and text continues', async () => {
    const { line, above, clock, written } = openLine()
    above.write('one\n')
    line.close()
    written()
    above.write('two\n')
    line.draw()
    await clock.advance(1_000)
    expect(written()).toBe('two\n')
    line.open()
    expect(written()).toBe('h')
  })
})
