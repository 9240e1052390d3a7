/** Messages that are sent together at the most: with more the other thread would wait for its work. */
const messagesMax = 16

/** What gathered messages are sent with. */
export interface Gatherer<Message> {
  /** Sends some together. */
  readonly send: (messages: readonly Message[]) => void
  /** Calls back once all that is said at this moment was said. */
  readonly later: (send: () => void) => void
}

/**
 * Sends together what is said at one moment: a message between threads costs both of them more than most
 * of what there is to say.
 */
export class Gathering<Message> {
  readonly #gatherer: Gatherer<Message>
  #messages: Message[] = []
  #isPlanned = false

  constructor(gatherer: Gatherer<Message>) {
    this.#gatherer = gatherer
  }

  /** Says something, which is sent soon, behind what was said before. */
  say(message: Message): void {
    this.#messages.push(message)
    if (this.#messages.length >= messagesMax) this.sendNow()
    else this.#plan()
  }

  /** Sends what was said so far, as long as that is anything. */
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
