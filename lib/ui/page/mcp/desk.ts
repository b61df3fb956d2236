// One session of the playground, from the first word to the last: the client, what the server offers, what it says, and what
// is being tried. It lasts while other pages are shown.

import { Held } from '../held.ts'
import { McpClient } from './client.ts'
import type { Way } from './client.ts'
import { offerOf } from './listed.ts'
import type { Item, Kind, Offer } from './listed.ts'
import { HttpFault, faultWords, membersOf, textOf } from './messages.ts'
import type { Members } from './messages.ts'
import { NO_TOKEN } from './token.ts'
import type { Token } from './token.ts'
import { Work } from './work.ts'

export interface Greeting {
  readonly name: string
  readonly version: string
  readonly protocol: string
  readonly instructions: string
  readonly capabilities: Members
}

export type Link =
  | { readonly state: 'off' }
  | { readonly state: 'connecting' }
  | { readonly state: 'open'; readonly client: McpClient; readonly greeting: Greeting }
  | { readonly state: 'failed'; readonly error: string; readonly status: number }

/** Something the server said that nobody asked for. */
export interface Said {
  readonly number: number
  readonly at: number
  readonly level: string
  readonly source: string
  readonly data: unknown
}

/** The newest are kept. */
const MAX_SAID = 200

export class Desk {
  readonly link = new Held<Link>({ state: 'off' })
  readonly offer = new Held<Offer | null>(null)
  readonly said = new Held<readonly Said[]>([])
  /** In memory only. */
  readonly token = new Held<Token>(NO_TOKEN)
  /** Of what is listed; null for the first that there is. */
  readonly kind = new Held<Kind | null>(null)
  readonly filter = new Held('')
  /** What was chosen of it. */
  readonly work = new Held<Work | null>(null)
  #client: McpClient | null = null
  #able: Members = {}
  #count = 0

  connect(way: Way, token: string): void {
    this.#leave()
    const fresh = new McpClient({
      way,
      token,
      hear: (method, params) => {
        if (this.#client === fresh) this.#hear(fresh, method, params)
      },
      begun: () => this.#say('notice', 'playground', 'the session had ended: a new one was begun'),
    })
    this.#client = fresh
    this.link.set({ state: 'connecting' })
    fresh.connect().then(
      async (answer) => {
        if (this.#client !== fresh) return fresh.close()
        const greeting = greetingOf(answer)
        this.link.set({ state: 'open', client: fresh, greeting })
        this.#able = greeting.capabilities
        await this.#look(fresh)
      },
      (error: unknown) => {
        if (this.#client !== fresh) return
        const status = error instanceof HttpFault ? error.status : 0
        this.link.set({ state: 'failed', error: faultWords(error), status })
      },
    )
  }

  disconnect(): void {
    this.#leave()
    this.link.set({ state: 'off' })
  }

  /** Whoever turns to something else waits for nothing here. */
  choose(item: Item | null): Work | null {
    this.work.value?.cancel()
    const work = item === null || this.#client === null ? null : new Work(item, this.#client)
    this.work.set(work)
    return work
  }

  clear(): void {
    this.said.set([])
  }

  #leave(): void {
    this.choose(null)
    this.#client?.close()
    this.#client = null
    this.offer.set(null)
  }

  #hear(client: McpClient, method: string, params: Members): void {
    if (method === 'notifications/message')
      return this.#say(textOf(params['level']) || 'info', textOf(params['logger']), params['data'])
    this.#say('notice', method, params)
    if (method.endsWith('/list_changed')) void this.#look(client)
  }

  async #look(client: McpClient): Promise<void> {
    const ask = (method: string, params: Members): Promise<Members> =>
      client.request(method, params)
    const found = await offerOf(ask, this.#able)
    if (this.#client === client) this.offer.set(found)
  }

  #say(level: string, source: string, data: unknown): void {
    const one = { number: ++this.#count, at: Date.now(), level, source, data }
    this.said.change((before) => [...before.slice(1 - MAX_SAID), one])
  }
}

function greetingOf(answer: Members): Greeting {
  const server = membersOf(answer['serverInfo']) ?? {}
  return {
    name: textOf(server['title']) || textOf(server['name']) || 'a server without a name',
    version: textOf(server['version']),
    protocol: textOf(answer['protocolVersion']),
    instructions: textOf(answer['instructions']),
    capabilities: membersOf(answer['capabilities']) ?? {},
  }
}
