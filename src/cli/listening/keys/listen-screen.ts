import type { Match } from '../../../match/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import type { Io } from '../../io.ts'
import { createStyle, wantsColor } from '../../output/style.ts'
import { ListenKeys, type KeyTargets } from './listen-keys.ts'

/** How requests are shown. */
export interface ListenScreenOptions {
  /** Which requests are shown; all by default. */
  readonly filter?: Match | undefined
  /** The file of `--save`. */
  readonly save: string | undefined
  /** False to read no keys. */
  readonly input: boolean
  /** Records instead of lines. */
  readonly json: boolean
  readonly quiet: boolean
  readonly color: boolean
}

/** The output of `listen`. It decides which requests are shown. */
export interface ListenScreen {
  /** The streams to write to. */
  readonly io: Io
  /** Starts reading keys. */
  open(targets: KeyTargets): void
  /** Records a request, and shows it now, after a pause, or never. */
  arrive(event: ReceivedEvent, show: () => void): void
  /** Ends. Later writes go directly to the streams. */
  close(): Promise<void>
}

/** A screen with keys on an interactive terminal, else plain streams. */
export async function listenScreen(options: ListenScreenOptions, io: Io): Promise<ListenScreen> {
  const { filter, save, input, json, quiet, color } = options
  const { terminal } = io
  if (terminal === undefined || !input || json || quiet) {
    return {
      io,
      open: () => undefined,
      arrive: (event, show) => {
        if (filter?.test(event) !== false) show()
      },
      close: () => Promise.resolve(),
    }
  }
  const style = await createStyle(wantsColor(io, io.stderr, color))
  return new ListenKeys({ io, terminal, style, filter, save })
}
