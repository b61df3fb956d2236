// One JSON-RPC message as it came: its bytes, and where its parts lie in them. It is sent on by editing those bytes,
// so that numbers, unknown members and their order reach the other side as they were written.

import { buildReply } from '../../core/replies.ts'
import type { Reply } from '../../core/types.ts'
import { applyEdits } from '../../text/json-edit.ts'
import type { JsonEdit } from '../../text/json-edit.ts'
import { findJsonValue, listMembers, readJsonString } from '../../text/json-scan.ts'
import type { ByteSpan, JsonMember } from '../../text/json-scan.ts'

export type RpcMessageKind = 'request' | 'notification' | 'response'

/** Members that decide what a message is; a second one, or one in other letters, could mean another thing elsewhere. */
const ENVELOPE_MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']

/** Of the envelope; five are known. */
const MAX_ENVELOPE_MEMBERS = 64

export class RpcMessage {
  readonly bytes: Buffer
  readonly kind: RpcMessageKind
  /** '' for a response. */
  readonly method: string
  /** null for a notification. */
  readonly id: ByteSpan | null
  readonly params: ByteSpan | null
  /** Of a response; null when it is an error. */
  readonly result: ByteSpan | null
  readonly error: ByteSpan | null

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
  static parse(bytes: Buffer): RpcMessage | string {
    const whole = findJsonValue(bytes)
    if (whole === null) return 'not valid JSON'
    return RpcMessage.parseAt(bytes, whole)
  }

  /** The same for a value in bytes that were checked as a whole, such as an item of a batch. */
  static parseAt(all: Buffer, { from, to }: ByteSpan): RpcMessage | string {
    if (all[from] !== OPEN_BRACE) return 'not a JSON-RPC message: expected an object'
    const bytes = removeLineBreaks(all.subarray(from, to))
    const members = listMembers(bytes, { from: 0, to: bytes.length }, MAX_ENVELOPE_MEMBERS + 1)
    if (members.length > MAX_ENVELOPE_MEMBERS) return 'not a JSON-RPC message: too many members'
    const envelope = parseEnvelope(bytes, members)
    return typeof envelope === 'string' ? envelope : new RpcMessage(bytes, envelope)
  }

  /** The id as it was written: `1`, `"a"`. */
  get idText(): string {
    const { bytes, id } = this
    return id === null ? 'null' : bytes.toString('utf8', id.from, id.to)
  }

  withId(text: string, ...more: readonly JsonEdit[]): Buffer {
    return applyEdits(this.bytes, this.id === null ? more : [{ ...this.id, text }, ...more])
  }

  /** Members of `params`, if it is an object. */
  paramMembers(): JsonMember[] {
    const { params, bytes } = this
    return params !== null && bytes[params.from] === OPEN_BRACE ? listMembers(bytes, params) : []
  }

  /** A member of `params`: its span. Of two, the last, as nearly everyone reads JSON. */
  param(name: string): ByteSpan | undefined {
    return this.paramMembers().findLast(({ key }) => key === name)
  }

  /** A text in `params`. */
  textParam(name: string): string | undefined {
    const span = this.param(name)
    return span === undefined ? undefined : readJsonString(this.bytes, span)
  }

  text(span: ByteSpan): string {
    return this.bytes.toString('utf8', span.from, span.to)
  }
}

interface Envelope {
  method: string
  id: ByteSpan | null
  params: ByteSpan | null
  result: ByteSpan | null
  error: ByteSpan | null
}

const OPEN_BRACE = 0x7b
/** Of `null`. */
const SMALL_N = 0x6e

function parseEnvelope(bytes: Buffer, members: readonly JsonMember[]): Envelope | string {
  const found = new Map<string, JsonMember>()
  for (const member of members) {
    const name = foldEnvelopeName(member.key)
    if (!ENVELOPE_MEMBERS.includes(name)) continue
    if (found.has(name)) return `not a JSON-RPC message: '${name}' occurs twice`
    if (name !== member.key) return `not a JSON-RPC message: '${member.key}' for '${name}'`
    found.set(name, member)
  }
  const version = found.get('jsonrpc')
  if (version === undefined || readJsonString(bytes, version) !== '2.0')
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
  const method = readJsonString(bytes, written)
  if (method === undefined || method === '' || result !== null || error !== null)
    return 'not a JSON-RPC message: expected one method, or a result or an error'
  return { method, id, params: found.get('params') ?? null, result: null, error: null }
}

/**
 * A name as the most lenient reader sees it: Go's matches members whatever their case, and for it the long s (U+017F)
 * is a case of s, which only upper case shows.
 */
export function foldEnvelopeName(key: string): string {
  return ENVELOPE_MEMBERS.includes(key) ? key : key.toUpperCase().toLowerCase()
}

/** A text or a number. */
function isId(bytes: Buffer, { from }: ByteSpan): boolean {
  const first = bytes[from]!
  return first === 0x22 || first === 0x2d || (first >= 0x30 && first <= 0x39)
}

/** Between values line breaks are mere white space, but on a child's input and in an event they end the message. */
function removeLineBreaks(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes
  const line = Buffer.from(bytes)
  for (let at = 0; at < line.length; at++)
    if (line[at] === 0x0a || line[at] === 0x0d) line[at] = 0x20
  return line
}

// JSON-RPC as the gateway itself speaks it: errors, results and notifications of its own.

/** Codes of JSON-RPC, of the MCP SDKs' servers and of the MCP specification. */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** The transport refused, or a target failed. */
  server: -32000,
  noSession: -32001,
  headerMismatch: -32020,
  version: -32022,
} as const

export type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES]

export interface RpcError {
  readonly code: RpcCode
  readonly message: string
  readonly data?: unknown
}

/** `idText` is an id as it was written: `1`, `"a"`, or `null` where there is none. */
export function formatRpcError(idText: string, error: RpcError): string {
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`
}

export function encodeRpcResult(idText: string, resultText: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":${resultText}}`)
}

export function encodeRpcNotification(method: string, paramsText: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${paramsText}}`)
}

/** Nobody waits for the answer to the request of this number any more. */
export function encodeCancelledNotification(number: number, why: string): Buffer {
  const params = JSON.stringify({ requestId: number, reason: why })
  return encodeRpcNotification('notifications/cancelled', params)
}

/** An answer that is an HTTP error and says why in JSON-RPC. */
export function createRpcRefusal(status: number, error: RpcError, idText = 'null'): Reply {
  return buildReply(status, [['content-type', 'application/json']], formatRpcError(idText, error))
}

/** Notifications and answers of the client's get no more than this. */
export function createAcceptedReply(): Reply {
  return buildReply(202, [])
}
