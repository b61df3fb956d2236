// Shared by specs of links: a target with a scripted backend, messages, responses, and an owner that records events.

import { BACKEND_LIMITS, MCP_LIMITS } from '../../../../lib/core/bounds.ts'
import { Log } from '../../../../lib/core/log.ts'
import type { Reply } from '../../../../lib/core/types.ts'
import { ConnectionPools, createOrigin } from '../../../../lib/forward/http/pools.ts'
import type { RpcMessage } from '../../../../lib/forward/mcp/json-rpc.ts'
import type {
  RemoteTargetContext,
  RemoteTarget,
} from '../../../../lib/forward/mcp/remote/remote-target.ts'
import type {
  TargetLink,
  TargetLinkOwner,
  OutgoingMessage,
  ForwardedHeaders,
} from '../../../../lib/forward/mcp/target-link.ts'
import type { Backend, Step } from '../../../support/backend.ts'
import { deadline } from '../../../support/deadline.ts'
import type { Stage } from '../../../support/gateway.ts'

const WAIT_MS = 30_000

export interface RemoteOptions extends Partial<Omit<RemoteTarget, 'name'>> {
  maxMessageBytes?: number
  poolMaxSize?: number
  bodyIdleTimeout?: number
}

/** A target named `x` on this port of loopback. */
export function remoteAt(
  stage: Stage,
  port: number,
  options: RemoteOptions = {},
): RemoteTargetContext {
  const { maxMessageBytes, poolMaxSize, bodyIdleTimeout, ...changes } = options
  const target: RemoteTarget = {
    name: 'x',
    kind: 'mcp',
    host: '127.0.0.1',
    port,
    path: '/mcp',
    tls: null,
    auth: null,
    requestHeaderModifier: null,
    transformations: null,
    ...changes,
  }
  const pools = stage.add(
    new ConnectionPools({
      ...BACKEND_LIMITS,
      ...(poolMaxSize !== undefined && { poolMaxSize }),
      ...(bodyIdleTimeout !== undefined && { bodyIdleTimeout }),
    }),
  )
  return {
    target,
    pool: pools.poolFor(createOrigin({ kind: 'tcp', host: target.host, port }, target.tls)),
    limits: { maxMessageBytes: maxMessageBytes ?? MCP_LIMITS.maxMessageBytes },
    log: new Log({ level: 'error', format: 'text' }),
    leaving() {},
  }
}

/** Records the events of a link as text, in order; `on` may react at once. */
export class LinkRecorder implements TargetLinkOwner {
  readonly session = {}
  readonly label = 'spec'
  readonly recorded: string[] = []
  readonly replies: Reply[] = []
  on: (event: string) => void = () => {}
  #wake: (() => void)[] = []

  received(message: RpcMessage, number: number): void {
    this.#record(`${number}: ${message.bytes.toString()}`)
  }

  failed(number: number, reason: string, reply: Reply | null): void {
    if (reply !== null) this.replies.push(reply)
    this.#record(`failed ${number}: ${reason}`)
  }

  closed(reason: string): void {
    this.#record(`closed: ${reason}`)
  }

  expired(number: number): void {
    this.#record(`expired ${number}`)
  }

  /** Waits for this many events. */
  async count(count: number): Promise<string[]> {
    while (this.recorded.length < count) {
      const recorded = new Promise<void>((resolve) => this.#wake.push(resolve))
      const last = this.recorded.slice(-3).map((event) => event.slice(0, 200))
      await deadline(recorded, WAIT_MS, `${count} calls; the last were ${JSON.stringify(last)}`)
    }
    return this.recorded
  }

  #record(event: string): void {
    this.recorded.push(event)
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
    this.on(event)
  }
}

export function request(
  number: number,
  method = 'tools/call',
  fields: ForwardedHeaders = [],
): OutgoingMessage {
  return {
    bytes: Buffer.from(`{"jsonrpc":"2.0","id":${number},"method":"${method}"}`),
    number,
    fields,
  }
}

export function notification(method: string): OutgoingMessage {
  return { bytes: Buffer.from(`{"jsonrpc":"2.0","method":"${method}"}`), number: 0, fields: [] }
}

export function result(number: number, value = '{}'): string {
  return `{"jsonrpc":"2.0","id":${number},"result":${value}}`
}

export const INITIALIZED = notification('notifications/initialized')
export const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress"}'

/** Waits for one complete request. */
function oneRequest(text: string): number {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return -1
  const length = /content-length: (\d+)/.exec(text.substring(0, end))?.[1] ?? '0'
  return end + 4 + Number(length)
}

interface Sent {
  send: Buffer
}

export const WAIT: Step = { wait: oneRequest }

/** A complete response. */
export function answer(status: string, fields: string, content = ''): Sent {
  const lines = fields === '' ? '' : `${fields}\r\n`
  const head = `HTTP/1.1 ${status}\r\n${lines}content-length: ${Buffer.byteLength(content)}\r\n\r\n`
  return { send: Buffer.from(head + content) }
}

export function json(content: string, fields = ''): Sent {
  return answer('200 OK', `content-type: application/json${fields}`, content)
}

export const ACCEPTED = answer('202 Accepted', '')

/** Without a length: the body ends with the connection. */
export const EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'
/** Chunked: its end differs from a lost connection. */
export const CHUNKED_EVENTS = EVENTS.replace('\r\n\r\n', '\r\ntransfer-encoding: chunked\r\n\r\n')

export function event(data: string, id = ''): string {
  return `${id === '' ? '' : `id: ${id}\n`}event: message\ndata: ${data}\n\n`
}

/** A complete chunked event stream, so that its connection can be reused. */
export function events(...all: string[]): Step {
  const content = all.join('')
  const size = Buffer.byteLength(content).toString(16)
  return { send: `${CHUNKED_EVENTS}${size}\r\n${content}\r\n0\r\n\r\n` }
}

/** The answer to initialize of a target with sessions. */
export const WELCOME = json(result(1, '{"protocolVersion":"2025-06-18"}'), '\r\nmcp-session-id: s1')

/** The requests at a backend, each as its first line and the named headers. */
export function requestsAt(backend: Backend, ...names: string[]): string[] {
  return backend.connections.flatMap(({ received }) => {
    const heads = received.split(/(?=(?:POST|GET|DELETE) \/)/)
    return heads
      .filter((head) => head !== '')
      .map((head) => {
        const lines = head.split('\r\n')
        const fields = names.flatMap((name) => lines.filter((line) => line.startsWith(`${name}:`)))
        return [lines[0]!.replace(' HTTP/1.1', ''), ...fields].join(' ')
      })
  })
}

/** Closes idle connections and waits for the others to close. */
export async function allClosed(backend: Backend, { pool }: RemoteTargetContext): Promise<void> {
  pool.close()
  for (const connection of backend.connections) await connection.untilClosed()
}

/** A link to a target that follows these scripts, one for each connection, as `Backend.start` takes them. */
export async function linkTo<T extends TargetLink>(
  {
    stage,
    Link,
  }: { stage: Stage; Link: new (remote: RemoteTargetContext, owner: TargetLinkOwner) => T },
  scripts: Step[][],
  options: RemoteOptions = {},
): Promise<{ backend: Backend; recorder: LinkRecorder; remote: RemoteTargetContext; link: T }> {
  const backend = await stage.backend(...scripts)
  const recorder = new LinkRecorder()
  const remote = remoteAt(stage, backend.port, options)
  const link = stage.add(new Link(remote, recorder))
  return { backend, recorder, remote, link }
}
