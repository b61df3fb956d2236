// A client of either SDK with the interface that the checks use; it records the notifications.

import { deadline } from '../deadline.ts'

const WAIT_MS = 30_000

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (update: { progress: number }) => void
}

export interface ToolResult {
  readonly text: string
  readonly isError: boolean
  readonly content: readonly Record<string, unknown>[]
  readonly structured: unknown
}

interface Notification {
  readonly method: string
  readonly params?: unknown
}

/** The common part of the clients of both SDKs. */
export interface McpClient {
  getServerVersion(): { name: string; title?: string | undefined; version: string } | undefined
  getServerCapabilities(): object | undefined
  getInstructions(): string | undefined
  listTools(): Promise<{ tools: { name: string }[] }>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
  listResources(): Promise<{ resources: { uri: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: object[] }>
  getPrompt(params: PromptParams): Promise<{ messages: object[] }>
  complete(params: CompleteParams): Promise<{ completion: { values: string[] } }>
  ping(): Promise<object>
  setLoggingLevel(level: 'debug'): Promise<object>
  subscribeResource(params: { uri: string }): Promise<object>
  unsubscribeResource(params: { uri: string }): Promise<object>
  sendRootsListChanged(): Promise<void>
  close(): Promise<void>
}

interface PromptParams {
  name: string
  arguments?: Record<string, string>
}

interface CompleteParams {
  ref: { type: 'ref/prompt'; name: string }
  argument: { name: string; value: string }
}

/** The part that differs between the SDKs. */
export interface Means {
  readonly client: McpClient
  /** The whole result of tools/call. */
  readonly call: (name: string, given: object, options: CallOptions) => Promise<object>
  readonly version: () => string | undefined
  readonly sessionId: () => string | undefined
  /** Ends the session at the server. */
  readonly terminate: () => Promise<void>
}

/** The answers of a client to server requests. */
export interface Answers {
  readonly name: string
  readonly sample: string
  /** The URL of its one root. */
  readonly root: string
}

export function answersOf(name: string): Answers {
  return { name, sample: `a sample of ${name}`, root: `file:///roots/${name}` }
}

export const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } }

export type Connect = (url: URL, answers: Answers) => Promise<JudgeClient>

export class JudgeClient {
  readonly notifications: Notification[] = []
  readonly errors: Error[] = []
  readonly #means: Means
  #wake: (() => void)[] = []

  constructor(means: Means) {
    this.#means = means
  }

  get client(): McpClient {
    return this.#means.client
  }

  get version(): string | undefined {
    return this.#means.version()
  }

  get sessionId(): string | undefined {
    return this.#means.sessionId()
  }

  record(notification: Notification): void {
    this.notifications.push(notification)
    for (const wake of this.#wake.splice(0)) wake()
  }

  /** Waits until it has received this notification. */
  async waitForNotification(method: string, detail = ''): Promise<void> {
    const fits = (one: Notification): boolean =>
      one.method === method && JSON.stringify(one.params ?? {}).includes(detail)
    while (!this.notifications.some(fits)) {
      const change = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(
        change,
        WAIT_MS,
        `${method} ${detail}, not ${JSON.stringify(this.notifications)}`,
      )
    }
  }

  async call(name: string, given: object = {}, options: CallOptions = {}): Promise<ToolResult> {
    const asked = this.#means.call(name, given, options)
    const result = await deadline(asked, WAIT_MS, `the answer of ${name}`)
    const { content = [], isError = false, structuredContent: structured } = result as Raw
    const texts = content.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    return { text: texts.join('\n'), isError, content, structured }
  }

  async tools(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name)
  }

  async terminate(): Promise<void> {
    await deadline(this.#means.terminate(), WAIT_MS, 'the end of the session')
  }

  async close(): Promise<void> {
    await deadline(this.client.close(), WAIT_MS, 'the client to close')
  }
}

interface Raw {
  content?: Record<string, unknown>[]
  isError?: boolean
  structuredContent?: unknown
}
