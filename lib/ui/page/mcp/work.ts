// One tool, prompt or resource in use: what was filled in, one request at a time, how far it is and how it ended.

import { Held } from '../held.ts'
import type { McpClient, Progress } from './client.ts'
import { formOf } from './form-model.ts'
import { presetsOf } from './form-values.ts'
import type { Drafts, Fault } from './form-values.ts'
import type { Item } from './listed.ts'
import { textOf } from './messages.ts'
import type { Members } from './messages.ts'
import { filled, holesOf } from './uri-template.ts'

export type CallState =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly since: number; readonly progress: Progress | null }
  | { readonly state: 'done'; readonly result: Members; readonly took: number }
  | { readonly state: 'failed'; readonly error: unknown; readonly took: number }
  | { readonly state: 'cancelled'; readonly took: number }

/** Whether the request is traced; `kept` under that number. */
export type Traced =
  | { readonly state: 'no' }
  | { readonly state: 'arming' }
  | { readonly state: 'armed' }
  | { readonly state: 'kept'; readonly id: number }
  | { readonly state: 'failed'; readonly error: string }

export class Work {
  static #count = 0
  readonly item: Item
  /** Two readings of one resource are two. */
  readonly number = ++Work.#count
  readonly drafts: Held<Drafts>
  /** Instead of the form; null while that is used. */
  readonly text: Held<string | null>
  readonly faults = new Held<readonly Fault[]>([])
  readonly call = new Held<CallState>({ state: 'idle' })
  readonly traced = new Held<Traced>({ state: 'no' })
  readonly #client: McpClient
  #isNew = true
  #controller: AbortController | null = null

  constructor(item: Item, client: McpClient) {
    const form = formOf(schemaOf(item))
    this.item = item
    this.drafts = new Held<Drafts>(presetsOf(form.fields))
    this.text = new Held<string | null>(form.use === 'json' ? '{}' : null)
    this.#client = client
  }

  /** Once: whoever comes back to it is not led to it again. */
  isFirstSight(): boolean {
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }

  run(values: Members): void {
    this.cancel()
    const own = new AbortController()
    this.#controller = own
    const since = performance.now()
    const set = (state: CallState): void => {
      if (this.#controller === own) this.call.set(state)
    }
    set({ state: 'running', since, progress: null })
    const { signal } = own
    const progress = (told: Progress): void => {
      if (!signal.aborted) set({ state: 'running', since, progress: told })
    }
    const took = (): number => performance.now() - since
    this.#client
      .request(methodOf(this.item), paramsOf(this.item, values), { signal, progress })
      .then(
        (result) => set({ state: 'done', result, took: took() }),
        (error: unknown) => {
          if (signal.aborted) set({ state: 'cancelled', took: took() })
          else set({ state: 'failed', error, took: took() })
        },
      )
  }

  cancel(): void {
    this.#controller?.abort()
  }
}

export function schemaOf(item: Item): unknown {
  if (item.kind === 'tool' || item.kind === 'prompt') return item.schema
  const names = item.kind === 'template' ? holesOf(item.uri) : []
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
  return { uri: item.kind === 'template' ? filled(item.uri, texts) : item.uri }
}
