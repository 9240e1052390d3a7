import { answerQuestions, type Program } from '../program.ts'

/** What a process that delivers is told; it answers once it has begun, or ended what was under way. */
export type Command = 'start' | 'stop'

/** A process that delivers when it is told to. */
export type Deliverer = Program<Command, unknown>

/** Begins to deliver, and returns what ends that. */
export type StartDelivering = () => Promise<() => Promise<void>>

/** Does what the process that started this one says, for as long as that lives. */
export function obey(start: StartDelivering): void {
  let stop: (() => Promise<void>) | undefined
  answerQuestions(async (command: Command) => {
    if (command === 'start') stop = await start()
    else await stop?.()
  })
}
