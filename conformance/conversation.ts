// The client's side of a case: sends its request blocks and judges the answers, in the order of the file.

import type { NetConnectOpts } from 'node:net'
import { RawClient } from '../spec/support/raw-client.ts'
import { areEvents, eventsFit, eventsIn, eventsOf, sayEvents } from './events.ts'
import { fitsAtStart } from './holes.ts'
import type { Kept } from './holes.ts'
import { differences, expectedOf, headDifferences, quote } from './match.ts'
import type { Expected } from './match.ts'
import { readMessage } from './message.ts'
import type { Message } from './message.ts'
import { millisecondsOf, parseScript } from './script.ts'
import type { Part } from './script.ts'

const ANSWER_MS = 15_000
/** Long enough for the gateway to read what was sent before the next piece follows. */
const APART_MS = 5

export type Cut = (bytes: Buffer) => Buffer[]

export interface Surroundings {
  target: NetConnectOpts
  /** Lets backends that hold go on. */
  release(): void
  signal(name: NodeJS.Signals): void
  /** Waits until backends heard this, or the gateway logged it. */
  told(to: 'backend' | 'log', text: string): Promise<void>
  /** Waits until the gateway has left all connections to backends. */
  left(): Promise<void>
}

export class Conversation {
  readonly #around: Surroundings
  /** What the answers of a case told, for its later requests. */
  readonly #kept: Kept
  #client: RawClient | null = null
  /** Methods of the requests on this connection that await their final answer. */
  #methods: string[] = []
  #unparsed = ''
  /** Events judged of a stream that goes on, which stays unread until its end; -1 without one. */
  #judged = -1

  constructor(around: Surroundings, kept: Kept) {
    this.#around = around
    this.#kept = kept
  }

  close(): void {
    this.#client?.destroy()
  }

  async request(text: string, cut: Cut = cutAtMarks): Promise<void> {
    let sent: RawClient | null = null
    for (const part of parseScript(text)) {
      if (part.bytes === undefined) await this.#direct(part.directive, part.argument)
      // The rest of a request that was answered and cut meanwhile is no request on another connection.
      else if (sent === null || sent !== this.#client || sent.end === 'open') {
        await this.#send(part.bytes, cut)
        sent = this.#client
      }
    }
  }

  async #direct(directive: string, argument: string): Promise<void> {
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
        return this.#around.release()
      case 'signal':
        return this.#around.signal(argument as NodeJS.Signals)
      case 'heard':
        return this.#around.told('backend', argument)
      case 'logged':
        return this.#around.told('log', argument)
      case 'left':
        return this.#around.left()
      default:
        throw new Error(`unknown directive of a request: ${directive}`)
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
    this.#judged = -1
    this.#client = await RawClient.connect(this.#around.target)
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

  /** Reads one message (or raw bytes) and says what is wrong with it. */
  async response(text: string): Promise<string[]> {
    const parts = parseScript(text)
    const expected = parts.find((part) => part.bytes !== undefined)?.bytes ?? ''
    const client = await this.#connectedForReading()
    const wrong: string[] = []
    if (expected.startsWith('HTTP/')) wrong.push(...(await this.#message(client, expected, parts)))
    else if (areEvents(expected) || has(parts, 'end'))
      wrong.push(...(await this.#events(client, expected, parts)))
    else if (expected !== '') wrong.push(...(await this.#raw(client, expected)))
    if (wrong.length > 0) return wrong
    if (has(parts, 'more')) this.#around.release()
    if (has(parts, 'closed') || has(parts, 'cut')) {
      await client.settled(() => false, ANSWER_MS, 'the connection to end').catch(note(wrong))
      if (client.text !== '') wrong.push(`more than expected: ${quote(client.text)}`)
    }
    return wrong
  }

  /** A closed connection can still be judged, so it is not replaced here. */
  async #connectedForReading(): Promise<RawClient> {
    return this.#client ?? this.#connected()
  }

  async #message(client: RawClient, text: string, parts: Part[]): Promise<string[]> {
    const expected = expectedOf(text)
    const isMore = has(parts, 'more')
    const isCut = has(parts, 'cut')
    if (isMore && isStream(expected)) return this.#stream(client, expected, parts)
    const isDone = (): boolean => {
      const message = this.#read(client)
      if (message === null || isCut) return false
      return message.isComplete || (isMore && fitsAtStart(expected.body, message.body) >= 0)
    }
    const wrong: string[] = []
    await client.settled(isDone, ANSWER_MS, 'the answer').catch(note(wrong))
    const message = this.#read(client)
    if (message === null) return [...wrong, `no answer but ${quote(client.text)}`]
    const judged = isMore ? soFar(expected, message) : message
    wrong.push(...differences(expected, judged, this.#kept))
    if (!isMore && isCut === message.isComplete)
      wrong.push(isCut ? 'answer is complete, not cut' : `answer is cut: ${quote(message.body)}`)
    client.take(judged.length)
    if (!/^\S+ 1\d\d/.test(message.start)) this.#methods.shift()
    return wrong
  }

  #read(client: RawClient): Message | null {
    return readMessage(client.text, {
      role: 'response',
      method: this.#methods[0],
      hasEnded: client.end === 'closed',
    })
  }

  /** An event stream that goes on: its head, and its first events. */
  async #stream(client: RawClient, expected: Expected, parts: Part[]): Promise<string[]> {
    const wrong: string[] = []
    const isDone = (): boolean => this.#read(client) !== null
    await client.settled(isDone, ANSWER_MS, 'the answer').catch(note(wrong))
    const message = this.#read(client)
    if (message === null) return [...wrong, `no answer but ${quote(client.text)}`]
    wrong.push(...headDifferences(expected, message, this.#kept))
    if (wrong.length > 0) return wrong
    this.#judged = 0
    return this.#events(client, expected.body, parts)
  }

  /** The next events of a stream, or the last ones, or its end. */
  async #events(client: RawClient, text: string, parts: Part[]): Promise<string[]> {
    if (this.#judged < 0) return ['there is no event stream that goes on']
    const isMore = has(parts, 'more')
    const expected = eventsOf(text)
    const end = this.#judged + expected.length
    const came = (): ReturnType<typeof eventsIn> => eventsIn(this.#read(client)?.content ?? '')
    const isDone = (): boolean =>
      this.#read(client)?.isComplete === true || (isMore && came().length >= end)
    const wrong: string[] = []
    await client.settled(isDone, ANSWER_MS, quote(text)).catch(note(wrong))
    const actual = came().slice(this.#judged, isMore ? end : undefined)
    if (!eventsFit(expected, actual, this.#kept))
      wrong.push(`events ${quote(sayEvents(actual))}, expected ${quote(sayEvents(expected))}`)
    const message = this.#read(client)
    if (!isMore && message?.isComplete !== true) wrong.push('the stream is cut')
    if (isMore) this.#judged = end
    else this.#leaveStream(client, message)
    return wrong
  }

  #leaveStream(client: RawClient, message: Message | null): void {
    this.#judged = -1
    client.take(message?.length ?? 0)
    this.#methods.shift()
  }

  async #raw(client: RawClient, expected: string): Promise<string[]> {
    const isDone = (): boolean => fitsAtStart(expected, client.text) >= 0
    const wrong: string[] = []
    await client.settled(isDone, ANSWER_MS, quote(expected)).catch(note(wrong))
    const length = fitsAtStart(expected, client.text)
    if (length < 0) return [...wrong, `bytes ${quote(client.text)}, expected ${quote(expected)}`]
    client.take(length)
    return []
  }
}

/** The part of an unfinished message that a case speaks of. */
function soFar(expected: Expected, message: Message): Message {
  const length = Math.max(0, fitsAtStart(expected.body, message.body))
  const body = message.body.substring(0, length)
  return { ...message, body, content: body, length: message.length - message.body.length + length }
}

/** A stream may be silent at first. */
function isStream({ fields, body }: Expected): boolean {
  const isNamed = fields.some(([name, value]) => name + value === 'content-typetext/event-stream')
  return areEvents(body) || (body === '' && isNamed)
}

function has(parts: Part[], directive: string): boolean {
  return parts.some((part) => part.directive === directive)
}

function note(wrong: string[]): (error: unknown) => void {
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
