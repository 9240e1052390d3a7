/** The maximum number of messages that are sent together. With more, the other thread would wait for work. */
const messagesMax = 16

/** How gathered messages are sent. */
export interface Gatherer<Message> {
  /** Sends some messages together. */
  readonly send: (messages: readonly Message[]) => void
  /** Calls back once no more messages are added in this turn of the event loop. */
  readonly later: (send: () => void) => void
}

/**
 * Sends the messages of one turn of the event loop together. Passing one costs more than most of the work it asks
 * for.
 */
export class Gathering<Message> {
  readonly #gatherer: Gatherer<Message>
  #messages: Message[] = []
  #isPlanned = false

  constructor(gatherer: Gatherer<Message>) {
    this.#gatherer = gatherer
  }

  /** Adds a message, which is sent soon, after earlier messages. */
  say(message: Message): void {
    this.#messages.push(message)
    if (this.#messages.length >= messagesMax) this.sendNow()
    else this.#plan()
  }

  /** Sends the messages so far, if there are any. */
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
