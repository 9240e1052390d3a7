import type { Match } from '../../../match/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import type { Io } from '../../io.ts'
import { createStyle, wantsColor } from '../../output/style.ts'
import { ListenKeys, type KeyTargets } from './listen-keys.ts'

/** How requests are shown. */
export interface ListenScreenOptions {
  /** What is shown of them; all where it is left out. */
  readonly filter?: Match | undefined
  /** The file that every request is saved to. */
  readonly save: string | undefined
  /** False where no keys are wanted. */
  readonly input: boolean
  /** Records instead of lines. */
  readonly json: boolean
  /** Nothing beside the lines of requests. */
  readonly quiet: boolean
  /** False where no colours are wanted. */
  readonly color: boolean
}

/** What `listen` writes to, and who decides what is shown. */
export interface ListenScreen {
  /** The streams to write to. */
  readonly io: Io
  /** Begins, once there is something to act on. */
  open(targets: KeyTargets): void
  /** Takes in a request; tells whether it is to be shown. */
  arrive(event: ReceivedEvent): boolean
  /** Ends; what is written later goes to the streams as they are. */
  close(): Promise<void>
}

/** With keys on a terminal that a person looks at; else streams and nothing more. */
export async function listenScreen(options: ListenScreenOptions, io: Io): Promise<ListenScreen> {
  const { filter, save, input, json, quiet, color } = options
  const { terminal } = io
  if (terminal === undefined || !input || json || quiet) {
    return {
      io,
      open: () => undefined,
      arrive: (event) => filter?.test(event) !== false,
      close: () => Promise.resolve(),
    }
  }
  const style = await createStyle(wantsColor(io, io.stderr, color))
  return new ListenKeys({ io, terminal, style, filter, save })
}
