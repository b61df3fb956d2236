// A minimal MCP client for specs: sends each request on its own connection and keeps the responses.

import { StringDecoder } from 'node:string_decoder'
import type { McpGroup } from '../../../lib/forward/mcp/mcp-group.ts'
import type { McpSession } from '../../../lib/forward/mcp/session/session.ts'
import { childFile } from '../../support/children/child-file.ts'
import type { RunningGateway, Stage } from '../../support/gateway.ts'
import type { RawClient } from '../../support/raw-client.ts'
import { Reloading } from '../../support/reloading.ts'

export type Json = Record<string, unknown>

/** One received event; a comment has neither id nor data. */
export interface Event {
  readonly id: string
  readonly data: string
  readonly comment: string
}

const WAIT_MS = 30_000

/** The response to one HTTP request, as far as it was received. */
export class Answer {
  readonly raw: RawClient
  /** The chunks read so far, their unparsed rest, and the missing bytes of the current chunk. */
  #read = 0
  readonly #fresh: Buffer[] = []
  #rest = Buffer.alloc(0)
  #missing = 0
  #head = ''
  #content = ''
  readonly #decoder = new StringDecoder()
  /** The complete events, and their end in the content. */
  readonly #events: Event[] = []
  #parsed = 0
  #state: 'head' | 'body' | 'whole' = 'head'

  constructor(raw: RawClient) {
    this.raw = raw
  }

  get status(): number {
    this.#catchUp()
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.#head)?.[1] ?? 0)
  }

  header(name: string): string | undefined {
    this.#catchUp()
    return new RegExp(`^${name}: (.*)$`, 'im').exec(this.#head)?.[1]?.trim()
  }

  /** The content so far, decoded. */
  get content(): string {
    this.#catchUp()
    return this.#content
  }

  get isWhole(): boolean {
    this.#catchUp()
    return this.#state === 'whole'
  }

  get events(): readonly Event[] {
    const { content } = this
    for (;;) {
      const end = content.indexOf('\n\n', this.#parsed)
      if (end < 0) return this.#events
      this.#events.push(eventIn(content.slice(this.#parsed, end)))
      this.#parsed = end + 2
    }
  }

  /** The messages so far, unparsed. */
  get texts(): string[] {
    return this.events.flatMap(({ data }) => (data === '' ? [] : [data]))
  }

  get messages(): Json[] {
    return this.texts.map((text) => JSON.parse(text) as Json)
  }

  async until(holds: (answer: this) => boolean, what: string): Promise<this> {
    await this.raw.settled(() => holds(this), WAIT_MS, `${what} after ${this.raw.text}`)
    if (!holds(this)) throw new Error(`no ${what}, but ${this.raw.end}: ${this.raw.text}`)
    return this
  }

  async head(): Promise<this> {
    return this.until(({ status }) => status !== 0, 'head')
  }

  /** Waits for this many messages. */
  async first(count: number): Promise<Json[]> {
    await this.until(({ texts }) => texts.length >= count, `${count} messages`)
    return this.messages
  }

  async whole(): Promise<this> {
    return this.until(({ isWhole }) => isWhole, 'end')
  }

  /** The only message of a complete response, as JSON or as an event. */
  async only(): Promise<Json> {
    await this.whole()
    const isStream = this.header('content-type') === 'text/event-stream'
    const texts = isStream ? this.texts : [this.content]
    if (texts.length !== 1) throw new Error(`got ${texts.length} messages: ${this.raw.text}`)
    return JSON.parse(texts[0]!) as Json
  }

  #catchUp(): void {
    const { arrivals } = this.raw
    for (; this.#read < arrivals.length; this.#read++) {
      const { bytes } = arrivals[this.#read]!
      this.#fresh.push(bytes)
      this.#missing -= bytes.length
    }
    if (this.#fresh.length === 0 || this.#missing > 0) return
    this.#rest = Buffer.concat([this.#rest, ...this.#fresh.splice(0)])
    const end = this.#state === 'head' ? this.#rest.indexOf('\r\n\r\n') : -1
    if (end >= 0) {
      this.#head = this.#take(end + 4).toString('latin1')
      this.#state = 'body'
    }
    if (this.#state !== 'body') return
    const length = this.header('content-length')
    if (length === undefined) return this.#takeChunks()
    this.#content += this.#decoder.write(this.#take(this.#rest.length))
    if (Buffer.byteLength(this.#content) >= Number(length)) this.#state = 'whole'
  }

  #takeChunks(): void {
    for (;;) {
      const end = this.#rest.indexOf('\r\n')
      const size = Number.parseInt(this.#rest.toString('latin1', 0, end), 16)
      if (end < 0) return
      this.#missing = end + size + 4 - this.#rest.length
      if (this.#missing > 0) return
      this.#content += this.#decoder.write(this.#take(end + size + 4).subarray(end + 2, -2))
      if (size === 0) return void (this.#state = 'whole')
    }
  }

  #take(count: number): Buffer {
    const taken = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return taken
  }
}

function eventIn(text: string): Event {
  return {
    id: /^id: (.*)$/m.exec(text)?.[1] ?? '',
    data: /^data: (.*)$/m.exec(text)?.[1] ?? '',
    comment: /^: ?(.*)$/m.exec(text)?.[1] ?? '',
  }
}

export interface ClientOptions {
  readonly path?: string
  readonly version?: string
  /** Additional header lines, each with its line end. */
  readonly fields?: string
  readonly capabilities?: Json
}

const ACCEPT = 'accept: application/json, text/event-stream\r\n'

export class McpClient {
  readonly stage: Stage
  readonly port: number
  /** Empty until there is one. */
  session = ''
  /** The answer to `initialize`. */
  welcome: Json = {}
  readonly #options: ClientOptions
  #last = 0

  constructor(stage: Stage, { port }: { port: number }, options: ClientOptions = {}) {
    this.stage = stage
    this.port = port
    this.#options = options
  }

  /** A client with a started session. */
  static async open(
    stage: Stage,
    gateway: { port: number },
    options?: ClientOptions,
  ): Promise<McpClient> {
    const client = new McpClient(stage, gateway, options)
    const answer = await client.initialize()
    client.welcome = await answer.only()
    client.session = answer.header('mcp-session-id') ?? ''
    if (client.session === '') throw new Error(`no session: ${answer.raw.text}`)
    await (await client.post('{"jsonrpc":"2.0","method":"notifications/initialized"}')).whole()
    return client
  }

  async initialize(): Promise<Answer> {
    const { version = '2025-06-18', capabilities = {} } = this.#options
    const clientInfo = { name: 'spec', version: '1' }
    const params = { protocolVersion: version, capabilities, clientInfo }
    return this.post(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  }

  async post(body: string, fields = ''): Promise<Answer> {
    const length = Buffer.byteLength(body)
    const type = 'content-type: application/json\r\n'
    const head = `${ACCEPT}${type}content-length: ${length}\r\n${fields}`
    return this.send('POST', head, Buffer.from(body).toString('latin1'))
  }

  /** Sends a request with the next id. */
  async ask(method: string, params: Json = {}): Promise<Answer> {
    return this.post(JSON.stringify({ jsonrpc: '2.0', id: ++this.#last, method, params }))
  }

  async call(name: string, given: Json = {}, more: Json = {}): Promise<Answer> {
    return this.ask('tools/call', { name, arguments: given, ...more })
  }

  async notify(method: string, params: Json = {}): Promise<void> {
    await (await this.post(JSON.stringify({ jsonrpc: '2.0', method, params }))).whole()
  }

  /** Calls a tool and returns its text. */
  async textOf(name: string, given: Json = {}): Promise<string> {
    return textIn((await (await this.call(name, given)).whole()).messages)
  }

  /** Opens the stand-alone stream, or resumes another one. */
  async listen(lastEventId?: string): Promise<Answer> {
    const field = lastEventId === undefined ? '' : `last-event-id: ${lastEventId}\r\n`
    return (await this.send('GET', ACCEPT + field)).head()
  }

  async delete(): Promise<Answer> {
    return (await this.send('DELETE', '')).whole()
  }

  async send(method: string, head: string, body = ''): Promise<Answer> {
    const { path = '/mcp', fields = '' } = this.#options
    const raw = await this.stage.client({ port: this.port, host: '127.0.0.1' })
    const session = this.session === '' ? '' : `mcp-session-id: ${this.session}\r\n`
    const host = `host: 127.0.0.1:${this.port}\r\n`
    raw.send(`${method} ${path} HTTP/1.1\r\n${host}${fields}${session}${head}\r\n${body}`)
    return new Answer(raw)
  }
}

/** The text of the last message, which is the answer of a tool. */
export function textIn(messages: readonly Json[]): string {
  const { result } = messages.at(-1) as { result?: { content?: { text?: string }[] } }
  const text = result?.content?.[0]?.text
  if (text === undefined) throw new Error(`no text in ${JSON.stringify(messages)}`)
  return text
}

export interface Setting {
  /** A target in YAML flow style, or a list of targets. */
  readonly targets?: readonly string[]
  /** Keys of `config.mcp`, in YAML flow style without braces. */
  readonly limits?: string
  /** Additional keys of the backend, in YAML flow style. */
  readonly more?: string
  readonly policies?: string
  /** Additional keys of `config`. */
  readonly config?: string
  /** Additional sections. */
  readonly sections?: string
}

/** A configuration with one MCP backend on every path. */
export function mcpText(setting: Setting = {}): string {
  const { targets = [server('one')], limits = '', more = '', policies = '' } = setting
  const { config = '', sections = '' } = setting
  const mcp = `{ targets: [${targets.join(', ')}]${more === '' ? '' : `, ${more}`} }`
  return `config: { mcp: { ${limits} }${config === '' ? '' : `, ${config}`} }
routes: [{ name: mcp, backends: [{ mcp: ${mcp} }], policies: { ${policies} } }]
${sections}
`
}

/** A target that runs the small server with these arguments. */
export function server(name: string, ...args: string[]): string {
  return target(name, 'mcp-server', ['--name', name, ...args])
}

/** A target that runs the puppet with these arguments. */
export function puppet(name: string, ...args: string[]): string {
  return target(name, 'puppet', args)
}

function target(name: string, file: string, args: readonly string[]): string {
  const words = JSON.stringify([childFile(file), ...args])
  return `{ name: ${name}, stdio: { cmd: ${JSON.stringify(process.execPath)}, args: ${words} } }`
}

/** A gateway with a started session. */
export async function begin(
  stage: Stage,
  setting: Setting = {},
  options: ClientOptions = {},
): Promise<[gateway: RunningGateway, client: McpClient]> {
  const gateway = await stage.gateway(mcpText(setting))
  return [gateway, await McpClient.open(stage, gateway, options)]
}

/** A gateway with a started session that can be reloaded and inspected. */
export async function beginOpenly(
  stage: Stage,
  setting: Setting = {},
  options: ClientOptions = {},
): Promise<[gateway: Reloading, client: McpClient]> {
  const gateway = stage.add(await Reloading.start(mcpText(setting)))
  return [gateway, await McpClient.open(stage, gateway, options)]
}

/** The sessions of all configured MCP backends. */
export function groupOf({ gateway }: Reloading): McpGroup {
  const [group] = gateway.plan.groups
  if (group === undefined) throw new Error('no MCP backend')
  return group
}

export function sessionsOf(reloading: Reloading): McpSession[] {
  return [...groupOf(reloading).sessions]
}
