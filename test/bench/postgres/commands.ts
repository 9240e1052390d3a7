/** What a process that delivers is told. */
export type Command = 'start' | 'stop'

/** What it says: that it may begin, that it has begun, that it has ended a run. */
export type Answer = 'ready' | 'started' | 'stopped'

/** Begins to deliver, and returns what ends that. */
export type StartDelivering = () => Promise<() => Promise<void>>

/** Does what the process that forked this one says, for as long as that lives. */
export function obey(start: StartDelivering): void {
  let stop: (() => Promise<void>) | undefined
  const obeyOne = async (command: Command): Promise<void> => {
    if (command === 'start') stop = await start()
    else await stop?.()
    say(command === 'start' ? 'started' : 'stopped')
  }
  process.on('message', (command: Command) => void obeyOne(command))
  process.on('disconnect', () => process.exit())
  say('ready')
}

function say(answer: Answer): void {
  process.send?.(answer)
}
