/** Maximum number of messages to send together. With more, the other thread would wait for work. */
const messagesMax = 16

interface Gatherer<Message> {
  readonly send: (messages: readonly Message[]) => void
  /** Calls `send` when no more messages are likely to come soon, such as after this turn of the event loop. */
  readonly later: (send: () => void) => void
}

/** Sends messages to another thread in groups. Passing a message usually costs more than handling it. */
export class Gathering<Message> {
  readonly #gatherer: Gatherer<Message>
  #messages: Message[] = []
  #isPlanned = false

  constructor(gatherer: Gatherer<Message>) {
    this.#gatherer = gatherer
  }

  /** Adds a message, which is sent soon, and after earlier ones. */
  say(message: Message): void {
    this.#messages.push(message)
    if (this.#messages.length >= messagesMax) this.sendNow()
    else this.#plan()
  }

  sendNow(): void {
    if (this.#messages.length === 0) return
    const messages = this.#messages
    this.#messages = []
    this.#gatherer.send(messages)
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#gatherer.later(() => {
      this.#isPlanned = false
      this.sendNow()
    })
  }
}
