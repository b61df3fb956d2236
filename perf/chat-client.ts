// The raw client of the LLM measures: sends requests on one keep-alive connection and reads each streamed response to its end.
import type { Socket } from 'node:net'
import { connected } from './client.ts'
import { eachStamp, nowMicros } from './fixtures.ts'
import { dial } from './socket.ts'

const BODY_BEGINS = 'data: '
const HEAD_ENDS = '\r\n\r\n'
const STREAM_ENDS = '\r\n0\r\n\r\n'
/** How much is shown of a response that does not start as expected. */
const SHOWN = 120

export type ChatEvents = {
  /** The first byte of a response body. */
  first: (caller: ChatCaller) => void
  stamp: (micros: number) => void
  ended: (caller: ChatCaller) => void
  failed: (error: Error) => void
}

export class ChatCaller {
  readonly socket: Socket
  readonly #events: ChatEvents
  #state: 'waiting' | 'streaming' = 'waiting'
  /** The head until the body starts; then the last bytes, which may be half of the end mark. */
  #before = ''
  sentAt = 0

  constructor(port: number, events: ChatEvents) {
    this.#events = events
    this.socket = dial(port, (count, buffer) => this.#read(buffer.toString('latin1', 0, count)))
  }

  async ready(): Promise<void> {
    await connected(this.socket, this.#events.failed)
  }

  send(request: string): void {
    this.sentAt = nowMicros()
    this.socket.write(request, 'latin1')
  }

  #read(text: string): boolean {
    const whole = this.#before + text
    if (this.#state === 'waiting' && !this.#begins(whole)) return true
    eachStamp(text, this.#events.stamp)
    this.#before = whole.slice(-STREAM_ENDS.length)
    if (this.#before !== STREAM_ENDS) return true
    this.#state = 'waiting'
    this.#before = ''
    this.#events.ended(this)
    return true
  }

  #begins(whole: string): boolean {
    this.#before = whole
    const isHead = whole.includes(HEAD_ENDS)
    if (isHead && !whole.startsWith('HTTP/1.1 200 '))
      this.#events.failed(new Error(`not the answer that was expected: ${whole.slice(0, SHOWN)}`))
    if (!isHead || !whole.includes(BODY_BEGINS)) return false
    this.#state = 'streaming'
    this.#events.first(this)
    return true
  }
}
