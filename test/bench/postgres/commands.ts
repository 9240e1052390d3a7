import { answerQuestions, type Program } from '../program.ts'

/**
 * Tells a deliverer to start or to stop. It answers once it has started, or has finished what was in flight.
 */
export type Command = 'start' | 'stop'

/** A process that delivers on command. */
export type Deliverer = Program<Command, unknown>

/** Starts delivering, and returns a function that stops. */
export type StartDelivering = () => Promise<() => Promise<void>>

/** Obeys the parent process until that ends. */
export function obey(start: StartDelivering): void {
  let stop: (() => Promise<void>) | undefined
  answerQuestions(async (command: Command) => {
    if (command === 'start') stop = await start()
    else await stop?.()
  })
}
