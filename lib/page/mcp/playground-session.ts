// One session of the playground: its MCP client, what the server offers and sends, and the call in progress.

import { clockText } from '../parts/number-text.ts'
import { Observable } from '../observable.ts'
import type { CallProgress, McpClient, SendHttp } from './mcp-client.ts'
import { expandTemplate, formOf, variablesOf } from './form-model.ts'
import { initialDrafts } from './form-values.ts'
import type { Drafts, Fault } from './form-values.ts'
import { offerOf } from './offer.ts'
import type { Item, Kind, Offer } from './offer.ts'
import { errorText, HttpError, membersOf, textOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'

export interface Token {
  readonly text: string
  /** Null when the provider gave no lifetime. */
  readonly expiresAt: number | null
}

export const NO_TOKEN: Token = { text: '', expiresAt: null }

const SHOWN_LENGTH = 4
/** The end of a shorter token would reveal too much of it. */
const MIN_LENGTH = 16

/** Only enough of the token to tell it from another one. */
export function maskToken({ text, expiresAt }: Token): string {
  const end = text.length < MIN_LENGTH ? 'set' : `…${text.slice(-SHOWN_LENGTH)}`
  return expiresAt === null ? end : `${end}, until ${clockText(expiresAt)}`
}

export type CallState =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly since: number; readonly progress: CallProgress | null }
  | { readonly state: 'done'; readonly result: Members; readonly duration: number }
  | { readonly state: 'failed'; readonly error: unknown; readonly duration: number }
  | { readonly state: 'cancelled'; readonly duration: number }

/** Whether the request is traced; `kept` means that the tracer has it under that id. */
export type TracedState =
  | { readonly state: 'no' }
  | { readonly state: 'arming' }
  | { readonly state: 'armed' }
  | { readonly state: 'kept'; readonly id: number }
  | { readonly state: 'failed'; readonly error: string }

/** The tool, prompt or resource that is selected: what is typed into its form, and its latest call. */
export class SelectedItem {
  static #count = 0
  readonly item: Item
  /** The same resource selected twice has two numbers. */
  readonly number = ++SelectedItem.#count
  readonly drafts: Observable<Drafts>
  /** The arguments as JSON text; null while the form is used. */
  readonly text: Observable<string | null>
  readonly faults = new Observable<readonly Fault[]>([])
  readonly call = new Observable<CallState>({ state: 'idle' })
  readonly traced = new Observable<TracedState>({ state: 'no' })
  readonly #client: McpClient
  #isNew = true
  #controller: AbortController | null = null

  constructor(item: Item, client: McpClient) {
    const form = formOf(schemaOf(item))
    this.item = item
    this.drafts = new Observable<Drafts>(initialDrafts(form.fields))
    this.text = new Observable<string | null>(form.use === 'json' ? '{}' : null)
    this.#client = client
  }

  /** True once, so that the focus moves to a new selection only. */
  isFirstShown(): boolean {
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }

  /** `traceToken` marks the request for a trace. */
  run(values: Members, traceToken?: string): void {
    this.cancel()
    const own = new AbortController()
    this.#controller = own
    const since = performance.now()
    const set = (state: CallState): void => {
      if (this.#controller === own) this.call.set(state)
    }
    set({ state: 'running', since, progress: null })
    const { signal } = own
    const onProgress = (progress: CallProgress): void => {
      if (!signal.aborted) set({ state: 'running', since, progress })
    }
    const duration = (): number => performance.now() - since
    this.#client
      .request(methodOf(this.item), paramsOf(this.item, values), { signal, onProgress, traceToken })
      .then(
        (result) => set({ state: 'done', result, duration: duration() }),
        (error: unknown) => {
          if (signal.aborted) set({ state: 'cancelled', duration: duration() })
          else set({ state: 'failed', error, duration: duration() })
        },
      )
  }

  cancel(): void {
    this.#controller?.abort('cancelled by the user')
  }
}

export function schemaOf(item: Item): unknown {
  if (item.kind === 'tool' || item.kind === 'prompt') return item.schema
  const names = item.kind === 'template' ? variablesOf(item.uri) : []
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  return { type: 'object', properties, required: names }
}

export function methodOf({ kind }: Item): string {
  if (kind === 'tool') return 'tools/call'
  return kind === 'prompt' ? 'prompts/get' : 'resources/read'
}

export function paramsOf(item: Item, values: Members): Members {
  if (item.kind === 'tool' || item.kind === 'prompt') return { name: item.name, arguments: values }
  const texts = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, textOf(value)]),
  )
  return { uri: item.kind === 'template' ? expandTemplate(item.uri, texts) : item.uri }
}

export interface ServerInfo {
  readonly name: string
  readonly version: string
  readonly protocol: string
  readonly instructions: string
  readonly capabilities: Members
}

export type Connection =
  | { readonly state: 'off' }
  | { readonly state: 'connecting' }
  | { readonly state: 'open'; readonly client: McpClient; readonly server: ServerInfo }
  | { readonly state: 'failed'; readonly error: string; readonly status: number }

/** A log message or another notification of the server. */
export interface ServerMessage {
  readonly number: number
  readonly at: number
  readonly level: string
  readonly source: string
  readonly data: unknown
}

/** The newest are kept. */
const MAX_MESSAGES = 200

export class PlaygroundSession {
  readonly connection = new Observable<Connection>({ state: 'off' })
  readonly offer = new Observable<Offer | null>(null)
  readonly messages = new Observable<readonly ServerMessage[]>([])
  /** In memory only. */
  readonly token = new Observable<Token>(NO_TOKEN)
  /** The kind that is listed; null for the first kind that the server has. */
  readonly kind = new Observable<Kind | null>(null)
  readonly filter = new Observable('')
  readonly selected = new Observable<SelectedItem | null>(null)
  #client: McpClient | null = null
  /** Counts calls of connect and disconnect, so that a slow one does not overwrite a later one. */
  #attempt = 0
  #capabilities: Members = {}
  #messageCount = 0

  connect(send: SendHttp, token: string): void {
    this.#close()
    this.connection.set({ state: 'connecting' })
    const attempt = this.#attempt
    this.#connect(send, token, attempt).catch((error: unknown) => {
      if (this.#attempt !== attempt) return
      const status = error instanceof HttpError ? error.status : 0
      this.connection.set({ state: 'failed', error: errorText(error), status })
    })
  }

  disconnect(): void {
    this.#close()
    this.connection.set({ state: 'off' })
  }

  /** Cancels the call of what was selected before. */
  select(item: Item | null): SelectedItem | null {
    this.selected.value?.cancel()
    const selected =
      item === null || this.#client === null ? null : new SelectedItem(item, this.#client)
    this.selected.set(selected)
    return selected
  }

  clearMessages(): void {
    this.messages.set([])
  }

  async #connect(send: SendHttp, token: string, attempt: number): Promise<void> {
    // The SDK is the largest part of the page, and only needed here.
    const { McpClient: Loaded } = await import('./mcp-client.ts')
    if (this.#attempt !== attempt) return
    const client: McpClient = new Loaded({
      send,
      token,
      onNotification: (method, params) => {
        if (this.#client === client) this.#receive(client, method, params)
      },
      onRestart: () =>
        this.#addMessage('notice', 'playground', 'the session had ended: opened a new one'),
    })
    this.#client = client
    const server = serverInfoOf(await client.connect())
    if (this.#client !== client) return client.close()
    this.connection.set({ state: 'open', client, server })
    this.#capabilities = server.capabilities
    await this.#loadOffer(client)
  }

  #close(): void {
    this.#attempt++
    this.select(null)
    this.#client?.close()
    this.#client = null
    this.offer.set(null)
  }

  #receive(client: McpClient, method: string, params: Members): void {
    if (method === 'notifications/message') {
      const level = textOf(params['level']) || 'info'
      return this.#addMessage(level, textOf(params['logger']), params['data'])
    }
    this.#addMessage('notice', method, params)
    if (method.endsWith('/list_changed')) void this.#loadOffer(client)
  }

  async #loadOffer(client: McpClient): Promise<void> {
    const ask = (method: string, params: Members): Promise<Members> =>
      client.request(method, params)
    const found = await offerOf(ask, this.#capabilities)
    if (this.#client === client) this.offer.set(found)
  }

  #addMessage(level: string, source: string, data: unknown): void {
    const one = { number: ++this.#messageCount, at: Date.now(), level, source, data }
    this.messages.change((before) => [...before.slice(1 - MAX_MESSAGES), one])
  }
}

function serverInfoOf(result: Members): ServerInfo {
  const server = membersOf(result['serverInfo']) ?? {}
  return {
    name: textOf(server['title']) || textOf(server['name']) || 'unnamed server',
    version: textOf(server['version']),
    protocol: textOf(result['protocolVersion']),
    instructions: textOf(result['instructions']),
    capabilities: membersOf(result['capabilities']) ?? {},
  }
}
