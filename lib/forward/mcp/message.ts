// One JSON-RPC message as it came: its bytes, and where its parts lie in them. It is sent on by editing those bytes,
// so that numbers, unknown members and their order reach the other side as they were written.

import { edited } from '../../base/json/edit.ts'
import type { Edit } from '../../base/json/edit.ts'
import { membersOf, stringAt, valueOf } from '../../base/json/scan.ts'
import type { Member, Span } from '../../base/json/scan.ts'

export type MessageKind = 'request' | 'notification' | 'response'

/** Members that decide what a message is; a second one, or one in other letters, could mean another thing elsewhere. */
const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']

/** Of the envelope; five are known. */
const MAX_MEMBERS = 64

export class Message {
  readonly bytes: Buffer
  readonly kind: MessageKind
  /** '' for a response. */
  readonly method: string
  /** null for a notification. */
  readonly id: Span | null
  readonly params: Span | null
  /** Of a response; null when it is an error. */
  readonly result: Span | null
  readonly error: Span | null

  private constructor(bytes: Buffer, members: Envelope) {
    this.bytes = bytes
    this.method = members.method
    this.id = members.id
    this.params = members.params
    this.result = members.result
    this.error = members.error
    this.kind =
      members.method === '' ? 'response' : members.id === null ? 'notification' : 'request'
  }

  /** The message in these bytes, or what is wrong with them. Line breaks in them are gone afterwards. */
  static from(bytes: Buffer): Message | string {
    const whole = valueOf(bytes)
    if (whole === null) return 'not valid JSON'
    return Message.at(bytes, whole)
  }

  /** The same for a value in bytes that were checked as a whole, such as an item of a batch. */
  static at(all: Buffer, { from, to }: Span): Message | string {
    if (all[from] !== OPEN_BRACE) return 'not a JSON-RPC message: expected an object'
    const bytes = onOneLine(all.subarray(from, to))
    const members = membersOf(bytes, { from: 0, to: bytes.length }, MAX_MEMBERS + 1)
    if (members.length > MAX_MEMBERS) return 'not a JSON-RPC message: too many members'
    const envelope = envelopeOf(bytes, members)
    return typeof envelope === 'string' ? envelope : new Message(bytes, envelope)
  }

  /** The id as it was written: `1`, `"a"`. */
  get idText(): string {
    const { bytes, id } = this
    return id === null ? 'null' : bytes.toString('utf8', id.from, id.to)
  }

  withId(text: string, ...more: readonly Edit[]): Buffer {
    return edited(this.bytes, this.id === null ? more : [{ ...this.id, text }, ...more])
  }

  /** Members of `params`, if it is an object. */
  paramMembers(): Member[] {
    const { params, bytes } = this
    return params !== null && bytes[params.from] === OPEN_BRACE ? membersOf(bytes, params) : []
  }

  /** A member of `params`: its span. Of two, the last, as nearly everyone reads JSON. */
  param(name: string): Span | undefined {
    return this.paramMembers().findLast(({ key }) => key === name)
  }

  /** A text in `params`. */
  textParam(name: string): string | undefined {
    const span = this.param(name)
    return span === undefined ? undefined : stringAt(this.bytes, span)
  }

  text(span: Span): string {
    return this.bytes.toString('utf8', span.from, span.to)
  }
}

interface Envelope {
  method: string
  id: Span | null
  params: Span | null
  result: Span | null
  error: Span | null
}

const OPEN_BRACE = 0x7b
/** Of `null`. */
const SMALL_N = 0x6e

function envelopeOf(bytes: Buffer, members: readonly Member[]): Envelope | string {
  const found = new Map<string, Member>()
  for (const member of members) {
    const name = folded(member.key)
    if (!ENVELOPE.includes(name)) continue
    if (found.has(name)) return `not a JSON-RPC message: '${name}' occurs twice`
    if (name !== member.key) return `not a JSON-RPC message: '${member.key}' for '${name}'`
    found.set(name, member)
  }
  const version = found.get('jsonrpc')
  if (version === undefined || stringAt(bytes, version) !== '2.0')
    return `not a JSON-RPC message: expected "jsonrpc": "2.0"`
  const id = found.get('id') ?? null
  const [result = null, error = null] = [found.get('result'), found.get('error')]
  const written = found.get('method')
  // MCP has no null, but errors about what could not be read have.
  const isUnread = id !== null && bytes[id.from] === SMALL_N && written === undefined
  if (id !== null && !isId(bytes, id) && !(isUnread && error !== null))
    return 'not a JSON-RPC message: id is no text or number'
  if (written === undefined) {
    if ((result === null) === (error === null))
      return 'not a JSON-RPC message: expected a method, a result or an error'
    if (id === null) return 'not a JSON-RPC message: a response without id'
    return { method: '', id, params: null, result, error }
  }
  const method = stringAt(bytes, written)
  if (method === undefined || method === '' || result !== null || error !== null)
    return 'not a JSON-RPC message: expected one method, or a result or an error'
  return { method, id, params: found.get('params') ?? null, result: null, error: null }
}

/**
 * A name as the most lenient reader sees it: Go's matches members whatever their case, and for it the long s (U+017F)
 * is a case of s, which only upper case shows.
 */
export function folded(key: string): string {
  return ENVELOPE.includes(key) ? key : key.toUpperCase().toLowerCase()
}

/** A text or a number. */
function isId(bytes: Buffer, { from }: Span): boolean {
  const first = bytes[from]!
  return first === 0x22 || first === 0x2d || (first >= 0x30 && first <= 0x39)
}

/** Between values line breaks are mere white space, but on a child's input and in an event they end the message. */
function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes
  const line = Buffer.from(bytes)
  for (let at = 0; at < line.length; at++)
    if (line[at] === 0x0a || line[at] === 0x0d) line[at] = 0x20
  return line
}
