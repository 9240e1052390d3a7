/**
 * The maximum of messages that are sent together. With more, the other thread would wait for work.
 */
const messagesMax = 16

/** How gathered messages are sent. */
export interface Gatherer<Message> {
  /** Sends some messages together. */
  readonly send: (messages: readonly Message[]) => void
  /** Calls back after all messages of this moment. */
  readonly later: (send: () => void) => void
}

/**
 * Sends messages of one moment together, because a message between threads costs both of them more
 * than most of the work in it.
 */
export class Gathering<Message> {
  readonly #gatherer: Gatherer<Message>
  #messages: Message[] = []
  #isPlanned = false

  constructor(gatherer: Gatherer<Message>) {
    this.#gatherer = gatherer
  }

  /** Adds a message. It is sent soon, after the messages before it. */
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
