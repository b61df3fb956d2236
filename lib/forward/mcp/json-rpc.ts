// JSON-RPC: messages that are forwarded by editing their original bytes, so that numbers, unknown members and member
// order do not change, and the errors, results and notifications that the gateway writes itself.

import { buildReply } from '../../core/replies.ts'
import type { Reply } from '../../core/types.ts'
import { applyEdits } from '../../text/json-edit.ts'
import type { JsonEdit } from '../../text/json-edit.ts'
import {
  describeInvalidJson,
  findJsonValue,
  listMembers,
  listReadableMembers,
  readJsonString,
} from '../../text/json-scan.ts'
import type { ByteSpan, JsonMember } from '../../text/json-scan.ts'

export type RpcMessageKind = 'request' | 'notification' | 'response'

/** Members that define the message; another parser may read a duplicate, or one in another case, differently. */
const ENVELOPE_MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']

/** Members of the message object; JSON-RPC defines six. */
const MAX_ENVELOPE_MEMBERS = 64

export class RpcMessage {
  readonly bytes: Buffer
  readonly kind: RpcMessageKind
  /** Empty for a response. */
  readonly method: string
  /** null for a notification. */
  readonly id: ByteSpan | null
  readonly params: ByteSpan | null
  /** The result of a response; null in an error response. */
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

  /** Returns the message, without line breaks, or the reason why the bytes are not a message. */
  static parse(bytes: Buffer): RpcMessage | string {
    const whole = findJsonValue(bytes)
    if (whole === null) return describeInvalidJson(bytes)
    return RpcMessage.parseAt(bytes, whole)
  }

  /** Parses one value of bytes that are known to be valid JSON, such as an item of a batch. */
  static parseAt(all: Buffer, { from, to }: ByteSpan): RpcMessage | string {
    if (all[from] !== OPEN_BRACE) return 'not a JSON-RPC message: expected an object'
    const bytes = removeLineBreaks(all.subarray(from, to))
    const members = listMembers(bytes, { from: 0, to: bytes.length }, MAX_ENVELOPE_MEMBERS + 1)
    if (members.length > MAX_ENVELOPE_MEMBERS) return 'not a JSON-RPC message: too many members'
    const surplus = findSurplusNull(bytes, members)
    if (surplus >= 0) return RpcMessage.parse(removeMember(bytes, members, surplus))
    const envelope = parseEnvelope(bytes, members)
    return typeof envelope === 'string' ? envelope : new RpcMessage(bytes, envelope)
  }

  /** The id as JSON text: `1`, `"a"`, or `null` when the message has none. */
  get idText(): string {
    const { bytes, id } = this
    return id === null ? 'null' : bytes.toString('utf8', id.from, id.to)
  }

  /** Returns the bytes with another id and further edits. */
  withId(text: string, ...edits: readonly JsonEdit[]): Buffer {
    return applyEdits(this.bytes, this.id === null ? edits : [{ ...this.id, text }, ...edits])
  }

  /** Lists the members of `params`; empty if it is not an object. */
  paramMembers(): JsonMember[] {
    const { params, bytes } = this
    return params !== null && bytes[params.from] === OPEN_BRACE ? listMembers(bytes, params) : []
  }

  /** The span of a member of `params`; of duplicates the last, as most JSON parsers do. */
  param(name: string): ByteSpan | undefined {
    return this.paramMembers().findLast(({ key }) => key === name)
  }

  /** A string member of `params`. */
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
const COMMA = 0x2c
/** The first letter of `null`. */
const SMALL_N = 0x6e

function parseEnvelope(bytes: Buffer, members: readonly JsonMember[]): Envelope | string {
  const found = new Map<string, JsonMember>()
  for (const member of members) {
    const name = foldEnvelopeName(member.key)
    if (!ENVELOPE_MEMBERS.includes(name)) continue
    if (found.has(name)) return `not a JSON-RPC message: '${name}' occurs twice`
    if (name !== member.key)
      return `not a JSON-RPC message: expected '${name}', found '${member.key}'`
    found.set(name, member)
  }
  const version = found.get('jsonrpc')
  if (version === undefined || readJsonString(bytes, version) !== '2.0')
    return `not a JSON-RPC message: expected "jsonrpc": "2.0"`
  const id = found.get('id') ?? null
  const [result = null, error = null] = [found.get('result'), found.get('error')]
  const methodMember = found.get('method')
  // MCP forbids a null id, but an error response to an unreadable request has one.
  const isNullResponse = id !== null && bytes[id.from] === SMALL_N && methodMember === undefined
  if (id !== null && !isId(bytes, id) && !(isNullResponse && error !== null))
    return 'not a JSON-RPC message: id must be a string or a number'
  if (methodMember === undefined) {
    if ((result === null) === (error === null))
      return 'not a JSON-RPC message: expected a method, a result or an error'
    if (id === null) return 'not a JSON-RPC message: a response without id'
    return { method: '', id, params: null, result, error }
  }
  const method = readJsonString(bytes, methodMember)
  if (method === undefined || method === '' || result !== null || error !== null)
    return 'not a JSON-RPC message: expected one method, or a result or an error'
  return { method, id, params: found.get('params') ?? null, result: null, error: null }
}

/**
 * Folds a member name like the most lenient parser: Go matches member names in any case and treats the long s (U+017F)
 * as an s, which only upper-casing reveals.
 */
export function foldEnvelopeName(key: string): string {
  return ENVELOPE_MEMBERS.includes(key) ? key : key.toUpperCase().toLowerCase()
}

/** Finds `error: null` next to a result, or `result: null` next to an error, which some servers send; -1 if none. */
function findSurplusNull(bytes: Buffer, members: readonly JsonMember[]): number {
  const [result, other] = indexesOf(members, 'result')
  const [error, another] = indexesOf(members, 'error')
  // A duplicate is refused: another parser may read the other one.
  if (result === undefined || error === undefined || other !== undefined || another !== undefined)
    return -1
  const isNull = (index: number): boolean => bytes[members[index]!.from] === SMALL_N
  return isNull(error) ? error : isNull(result) ? result : -1
}

function indexesOf(members: readonly JsonMember[], name: string): number[] {
  return members.flatMap(({ key }, index) => (key === name ? [index] : []))
}

/** Removes one of at least two members, with the comma that separates it: strict clients refuse the member. */
function removeMember(bytes: Buffer, members: readonly JsonMember[], index: number): Buffer {
  const { to } = members[index]!
  if (index > 0) return applyEdits(bytes, [{ from: members[index - 1]!.to, to, text: '' }])
  return applyEdits(bytes, [{ from: 1, to: bytes.indexOf(COMMA, to) + 1, text: '' }])
}

/**
 * The number of the request that an invalid message answers, as far as its bytes can be read; 0 if it does not look like
 * an answer: a log line may have an `id` too, and a `method` makes it a request of the sender.
 */
export function findAnsweredNumber(bytes: Buffer): number {
  const members = listReadableMembers(bytes, MAX_ENVELOPE_MEMBERS)
  const names = new Set(members.map(({ key }) => foldEnvelopeName(key)))
  const isAnswer = names.has('jsonrpc') || names.has('result') || names.has('error')
  const id = members.findLast(({ key }) => key === 'id')
  if (!isAnswer || names.has('method') || id === undefined) return 0
  const number = Number(bytes.toString('latin1', id.from, id.to))
  return Number.isSafeInteger(number) ? number : 0
}

/** Whether the value is a string or a number. */
function isId(bytes: Buffer, { from }: ByteSpan): boolean {
  const first = bytes[from]!
  return first === 0x22 || first === 0x2d || (first >= 0x30 && first <= 0x39)
}

/** Line breaks between values are white space in JSON but would end the message on stdio and in an SSE event. */
function removeLineBreaks(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes
  const line = Buffer.from(bytes)
  for (let at = 0; at < line.length; at++)
    if (line[at] === 0x0a || line[at] === 0x0d) line[at] = 0x20
  return line
}

/** Error codes of JSON-RPC, of the servers in the MCP SDKs and of the MCP specification. */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** The transport refused the request, or a target failed. */
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

/** `idText` is the id as JSON text: `1`, `"a"`, or `null` if there is none. */
export function formatRpcError(idText: string, error: RpcError): string {
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`
}

export function encodeRpcResult(idText: string, resultText: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":${resultText}}`)
}

export function encodeRpcNotification(method: string, paramsText: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${paramsText}}`)
}

/** Encodes `notifications/cancelled` for the request with this number. */
export function encodeCancelledNotification(number: number, reason: string): Buffer {
  const params = JSON.stringify({ requestId: number, reason })
  return encodeRpcNotification('notifications/cancelled', params)
}

/** Creates an HTTP error response with a JSON-RPC error as its body. */
export function createRpcRefusal(status: number, error: RpcError, idText = 'null'): Reply {
  return buildReply(status, [['content-type', 'application/json']], formatRpcError(idText, error))
}

/** Creates the reply to a POST that holds only notifications and responses. */
export function createAcceptedReply(): Reply {
  return buildReply(202, [])
}
