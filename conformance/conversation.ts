// The client of a case: sends the request blocks and checks the responses, in the order of the file.

import type { NetConnectOpts } from 'node:net'
import { RawClient } from '../spec/support/raw-client.ts'
import { areEvents, eventsFit, parseEvents, parseExpectedEvents, formatEvents } from './events.ts'
import { fitsAtStart } from './placeholders.ts'
import type { Kept } from './placeholders.ts'
import { differences, parseExpected, headDifferences, quote } from './match.ts'
import type { Expected } from './match.ts'
import { readMessage } from './message.ts'
import type { Message } from './message.ts'
import { millisecondsOf, parseScript } from './script.ts'
import type { Part } from './script.ts'

const ANSWER_MS = 15_000
/** Long enough for the gateway to read what was sent before the next piece follows. */
const APART_MS = 5

export type Cut = (bytes: Buffer) => Buffer[]

/** What a conversation needs from the running case. */
export interface CaseContext {
  target: NetConnectOpts
  /** Resumes backends at a `hold` step. */
  release(): void
  signal(name: NodeJS.Signals): void
  /** Waits until a backend received the text, or the gateway logged it. */
  waitForText(where: 'backend' | 'log', text: string): Promise<void>
  /** Waits until the gateway has closed all connections to backends. */
  waitForClosedBackends(): Promise<void>
}

export class Conversation {
  readonly #context: CaseContext
  /** Values from the responses of a case, for its later requests. */
  readonly #kept: Kept
  #client: RawClient | null = null
  /** Methods of the requests on this connection that wait for their final response. */
  #methods: string[] = []
  #unparsed = ''
  /** Events already checked of an open stream, which stays in the buffer until its end; -1 without a stream. */
  #checkedEvents = -1

  constructor(context: CaseContext, kept: Kept) {
    this.#context = context
    this.#kept = kept
  }

  close(): void {
    this.#client?.destroy()
  }

  async request(text: string, cut: Cut = cutAtMarks): Promise<void> {
    let sent: RawClient | null = null
    for (const part of parseScript(text)) {
      if (part.bytes === undefined) await this.#runDirective(part.directive, part.argument)
      // If the connection was closed after an early response, the rest must not go to a new connection.
      else if (sent === null || sent !== this.#client || sent.end === 'open') {
        await this.#send(part.bytes, cut)
        sent = this.#client
      }
    }
  }

  async #runDirective(directive: string, argument: string): Promise<void> {
    switch (directive) {
      case 'connect':
        this.close()
        this.#client = null
        return
      case 'sleep':
        return pause(millisecondsOf(argument))
      case 'reset':
        return this.#client?.reset()
      case 'close':
        return this.#client?.halfClose()
      case 'release':
        return this.#context.release()
      case 'signal':
        return this.#context.signal(argument as NodeJS.Signals)
      case 'heard':
        return this.#context.waitForText('backend', argument)
      case 'logged':
        return this.#context.waitForText('log', argument)
      case 'left':
        return this.#context.waitForClosedBackends()
      default:
        throw new Error(`unknown request directive: ${directive}`)
    }
  }

  async #send(text: string, cut: Cut): Promise<void> {
    const client = await this.#connected()
    this.#unparsed += text.replaceAll('<split>', '')
    this.#noteMethods()
    const chunks = cut(Buffer.from(text, 'latin1'))
    if (chunks.length > 3) return client.sendApart(chunks)
    for (const [index, chunk] of chunks.entries()) {
      if (index > 0) await pause(APART_MS)
      if (client.end === 'open') client.send(chunk)
    }
  }

  async #connected(): Promise<RawClient> {
    if (this.#client !== null && this.#client.end === 'open') return this.#client
    this.close()
    this.#methods = []
    this.#unparsed = ''
    this.#checkedEvents = -1
    this.#client = await RawClient.connect(this.#context.target)
    return this.#client
  }

  #noteMethods(): void {
    for (;;) {
      const request = readMessage(this.#unparsed, { role: 'request', hasEnded: false })
      if (request === null || !request.isComplete) return
      this.#methods.push(request.start.split(' ')[0] ?? '')
      this.#unparsed = this.#unparsed.substring(request.length)
    }
  }

  /** Reads one message, events or raw bytes; returns the differences from the expected text. */
  async response(text: string): Promise<string[]> {
    const parts = parseScript(text)
    const expected = parts.find((part) => part.bytes !== undefined)?.bytes ?? ''
    const client = await this.#connectedForReading()
    const wrong: string[] = []
    if (expected.startsWith('HTTP/'))
      wrong.push(...(await this.#checkMessage(client, expected, parts)))
    else if (areEvents(expected) || has(parts, 'end'))
      wrong.push(...(await this.#checkEvents(client, expected, parts)))
    else if (expected !== '') wrong.push(...(await this.#checkBytes(client, expected)))
    if (wrong.length > 0) return wrong
    if (has(parts, 'more')) this.#context.release()
    if (has(parts, 'closed') || has(parts, 'cut')) {
      await client
        .settled(() => false, ANSWER_MS, 'the connection to end')
        .catch(recordError(wrong))
      if (client.text !== '') wrong.push(`more than expected: ${quote(client.text)}`)
    }
    return wrong
  }

  /** A closed connection may still have unread data, so it is not replaced here. */
  async #connectedForReading(): Promise<RawClient> {
    return this.#client ?? this.#connected()
  }

  async #checkMessage(client: RawClient, text: string, parts: Part[]): Promise<string[]> {
    const expected = parseExpected(text)
    const isMore = has(parts, 'more')
    const isCut = has(parts, 'cut')
    if (isMore && isStream(expected)) return this.#checkStreamStart(client, expected, parts)
    const isDone = (): boolean => {
      const message = this.#readResponse(client)
      if (message === null || isCut) return false
      return message.isComplete || (isMore && fitsAtStart(expected.body, message.body) >= 0)
    }
    const wrong: string[] = []
    await client.settled(isDone, ANSWER_MS, 'the answer').catch(recordError(wrong))
    const message = this.#readResponse(client)
    if (message === null) return [...wrong, `no answer but ${quote(client.text)}`]
    const checked = isMore ? trimToExpected(expected, message) : message
    wrong.push(...differences(expected, checked, this.#kept))
    if (!isMore && isCut === message.isComplete)
      wrong.push(isCut ? 'answer is complete, not cut' : `answer is cut: ${quote(message.body)}`)
    client.take(checked.length)
    if (!/^\S+ 1\d\d/.test(message.start)) this.#methods.shift()
    return wrong
  }

  #readResponse(client: RawClient): Message | null {
    return readMessage(client.text, {
      role: 'response',
      method: this.#methods[0],
      hasEnded: client.end === 'closed',
    })
  }

  /** Checks the head and the first events of a stream that stays open. */
  async #checkStreamStart(client: RawClient, expected: Expected, parts: Part[]): Promise<string[]> {
    const wrong: string[] = []
    const isDone = (): boolean => this.#readResponse(client) !== null
    await client.settled(isDone, ANSWER_MS, 'the answer').catch(recordError(wrong))
    const message = this.#readResponse(client)
    if (message === null) return [...wrong, `no answer but ${quote(client.text)}`]
    wrong.push(...headDifferences(expected, message, this.#kept))
    if (wrong.length > 0) return wrong
    this.#checkedEvents = 0
    return this.#checkEvents(client, expected.body, parts)
  }

  /** Checks the next events of a stream, or the last ones and its end. */
  async #checkEvents(client: RawClient, text: string, parts: Part[]): Promise<string[]> {
    if (this.#checkedEvents < 0) return ['no event stream is open']
    const isMore = has(parts, 'more')
    const expected = parseExpectedEvents(text)
    const end = this.#checkedEvents + expected.length
    const receivedEvents = (): ReturnType<typeof parseEvents> =>
      parseEvents(this.#readResponse(client)?.content ?? '')
    const isDone = (): boolean =>
      this.#readResponse(client)?.isComplete === true || (isMore && receivedEvents().length >= end)
    const wrong: string[] = []
    await client.settled(isDone, ANSWER_MS, quote(text)).catch(recordError(wrong))
    const actual = receivedEvents().slice(this.#checkedEvents, isMore ? end : undefined)
    if (!eventsFit(expected, actual, this.#kept))
      wrong.push(`events ${quote(formatEvents(actual))}, expected ${quote(formatEvents(expected))}`)
    const message = this.#readResponse(client)
    if (!isMore && message?.isComplete !== true) wrong.push('the stream is cut')
    if (isMore) this.#checkedEvents = end
    else this.#leaveStream(client, message)
    return wrong
  }

  #leaveStream(client: RawClient, message: Message | null): void {
    this.#checkedEvents = -1
    client.take(message?.length ?? 0)
    this.#methods.shift()
  }

  async #checkBytes(client: RawClient, expected: string): Promise<string[]> {
    const isDone = (): boolean => fitsAtStart(expected, client.text) >= 0
    const wrong: string[] = []
    await client.settled(isDone, ANSWER_MS, quote(expected)).catch(recordError(wrong))
    const length = fitsAtStart(expected, client.text)
    if (length < 0) return [...wrong, `bytes ${quote(client.text)}, expected ${quote(expected)}`]
    client.take(length)
    return []
  }
}

/** The part of an unfinished message that the case expects. */
function trimToExpected(expected: Expected, message: Message): Message {
  const length = Math.max(0, fitsAtStart(expected.body, message.body))
  const body = message.body.substring(0, length)
  return { ...message, body, content: body, length: message.length - message.body.length + length }
}

/** A stream may start without events. */
function isStream({ fields, body }: Expected): boolean {
  const isNamed = fields.some(([name, value]) => name + value === 'content-typetext/event-stream')
  return areEvents(body) || (body === '' && isNamed)
}

function has(parts: Part[], directive: string): boolean {
  return parts.some((part) => part.directive === directive)
}

function recordError(wrong: string[]): (error: unknown) => void {
  return (error) => void wrong.push(error instanceof Error ? error.message : String(error))
}

function cutAtMarks(bytes: Buffer): Buffer[] {
  const pieces = bytes.toString('latin1').split('<split>')
  return pieces.filter((piece) => piece !== '').map((piece) => Buffer.from(piece, 'latin1'))
}

/** A timer may fire up to a millisecond early. */
async function pause(ms: number): Promise<void> {
  const until = performance.now() + ms
  while (performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(until - performance.now())))
}
