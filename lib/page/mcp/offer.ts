// What an MCP server offers: tools, prompts and resources, read page by page, and the list to choose from.

import { html, useEffect, useRef, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { useObservable } from '../observable.ts'
import { errorText, membersOf, objectsIn, textOf } from './mcp-errors.ts'
import type { Members } from './mcp-errors.ts'
import type { PlaygroundSession } from './playground-session.ts'

export interface Tool {
  readonly kind: 'tool'
  readonly name: string
  readonly title: string
  readonly description: string
  readonly schema: unknown
  /** Hints of the server, such as `read only`. They are not verified. */
  readonly hints: readonly string[]
}

export interface Prompt {
  readonly kind: 'prompt'
  readonly name: string
  readonly title: string
  readonly description: string
  /** As a JSON Schema, so that prompts use the same form as tools. */
  readonly schema: unknown
}

/** A resource, or a template for resources. */
export interface Resource {
  readonly kind: 'resource' | 'template'
  /** Or the URI template. */
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly type: string
}

export type Item = Tool | Prompt | Resource

export interface Offer {
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resources: readonly Resource[]
  /** Lists and targets that could not be read, and why. */
  readonly problems: readonly string[]
}

/** The lists of MCP. */
export type Kind = 'tools' | 'prompts' | 'resources'

type Ask = (method: string, params: Members) => Promise<Members>

/** The `_meta` key under which the gateway lists targets that are down. */
const FAILED_TARGETS_KEY = 'gateway/failedTargets'

const MAX_PAGES = 20
const MAX_ITEMS = 1_000

/** Requests only lists that the server has a capability for. */
export async function offerOf(request: Ask, capabilities: Members): Promise<Offer> {
  /** By list or target: one reason for each is enough. */
  const problems = new Map<string, string>()
  const tell = (what: string, reason: string): void => {
    if (!problems.has(what)) problems.set(what, reason)
  }
  const ask = async (method: string, params: Members): Promise<Members> => {
    const answer = await request(method, params)
    // Some of several targets may be down; the others are still listed.
    for (const { target, reason } of objectsIn(membersOf(answer['_meta'])?.[FAILED_TARGETS_KEY]))
      tell(textOf(target), textOf(reason) || `${textOf(target)} does not respond`)
    return answer
  }
  const all = async (of: string, method: string, member: string): Promise<Members[]> => {
    if (membersOf(capabilities[of]) === null) return []
    try {
      return await pagesOf(ask, method, member)
    } catch (error) {
      tell(method, `${method}: ${errorText(error)}`)
      return []
    }
  }
  const [tools, prompts, resources, templates] = await Promise.all([
    all('tools', 'tools/list', 'tools'),
    all('prompts', 'prompts/list', 'prompts'),
    all('resources', 'resources/list', 'resources'),
    all('resources', 'resources/templates/list', 'resourceTemplates'),
  ])
  return {
    tools: tools.map(toolOf),
    prompts: prompts.map(promptOf),
    resources: [
      ...resources.map((one) => resourceOf(one, 'resource')),
      ...templates.map((one) => resourceOf(one, 'template')),
    ],
    problems: [...problems.values()],
  }
}

async function pagesOf(ask: Ask, method: string, member: string): Promise<Members[]> {
  const found: Members[] = []
  let cursor = ''
  for (let page = 0; page < MAX_PAGES && found.length < MAX_ITEMS; page++) {
    const answer = await ask(method, cursor === '' ? {} : { cursor })
    found.push(...objectsIn(answer[member]))
    cursor = textOf(answer['nextCursor'])
    if (cursor === '') break
  }
  return found.slice(0, MAX_ITEMS)
}

const HINTS: readonly (readonly [member: string, value: boolean, words: string])[] = [
  ['readOnlyHint', true, 'read only'],
  ['destructiveHint', true, 'destructive'],
  ['idempotentHint', true, 'idempotent'],
  ['openWorldHint', true, 'open world'],
]

function toolOf(one: Members): Tool {
  const annotations = membersOf(one['annotations']) ?? {}
  const hints = HINTS.filter(([member, value]) => annotations[member] === value)
  return {
    kind: 'tool',
    ...namesOf(one, textOf(annotations['title'])),
    schema: one['inputSchema'],
    hints: hints.map(([, , words]) => words),
  }
}

function promptOf(one: Members): Prompt {
  const found = objectsIn(one['arguments'])
  const named = found.map((given) => [textOf(given['name']), given] as const)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      named.map(([name, { title, description }]) => [name, { type: 'string', title, description }]),
    ),
    required: named.filter(([, given]) => given['required'] === true).map(([name]) => name),
  }
  return { kind: 'prompt', ...namesOf(one), schema }
}

function resourceOf(one: Members, kind: 'resource' | 'template'): Resource {
  const uri = textOf(one[kind === 'resource' ? 'uri' : 'uriTemplate'])
  return { kind, ...namesOf(one), uri, type: textOf(one['mimeType']) }
}

function namesOf(
  one: Members,
  other = '',
): { readonly name: string; readonly title: string; readonly description: string } {
  const [name, title] = [textOf(one['name']), textOf(one['title'])]
  return { name, title: title || other, description: textOf(one['description']) }
}

const KINDS: readonly Kind[] = ['tools', 'prompts', 'resources']
const TITLES = { tools: 'Tools', prompts: 'Prompts', resources: 'Resources' }

/** Longer lists get a filter. */
const FILTER_FROM = 8

export function Items(props: {
  readonly session: PlaygroundSession
  readonly offer: Offer
  readonly chosen: Item | null
}): VNode {
  const { session, offer, chosen } = props
  const kind = useObservable(session.kind) ?? KINDS.find((one) => offer[one].length > 0) ?? 'tools'
  const filter = useObservable(session.filter)
  const [isOpen, setOpen] = useState(chosen === null)
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    // The button that was clicked is gone: moves the focus to the list.
    if (document.activeElement !== document.body) return
    place.current?.querySelector<HTMLElement>('li button')?.focus({ preventScroll: true })
  }, [])
  const turn = (next: Kind): void => {
    if (next !== kind) session.select(null)
    session.kind.set(next)
    session.filter.set('')
    setOpen(true)
  }
  const choose = (item: Item): void => {
    session.select(item)
    setOpen(false)
  }
  const all: readonly Item[] = offer[kind]
  const wanted = filter.toLowerCase()
  const shown = all.filter((item) =>
    textsOf(item).some((one) => one.toLowerCase().includes(wanted)),
  )
  return html`
    <nav
      class=${`items-list ${isOpen || chosen === null ? '' : 'folded'}`}
      aria-label="Tools, prompts and resources"
      ref=${place}
    >
      <${Kinds} offer=${offer} kind=${kind} turn=${turn} />
      ${
        all.length >= FILTER_FROM &&
        html`
          <input
            type="search"
            aria-label=${`Filter ${kind}`}
            placeholder="Filter"
            value=${filter}
            onInput=${(event: Event) => session.filter.set((event.target as HTMLInputElement).value)}
          />
        `
      }
      <button type="button" class="unfold" onClick=${() => setOpen(true)}>
        Show all ${all.length} ${kind}
      </button>
      ${offer.problems.map((problem) => html`<p class="note bad" key=${problem}>${problem}</p>`)}
      <${Names} of=${shown} chosen=${chosen} choose=${choose} />
      ${shown.length === 0 && html`<p class="dim none">${all.length === 0 ? `no ${kind}` : 'no matches'}</p>`}
    </nav>
  `
}

function Kinds(props: {
  readonly offer: Offer
  readonly kind: Kind
  readonly turn: (kind: Kind) => void
}): VNode {
  const { offer, kind, turn } = props
  return html`
    <div class="segments" role="group" aria-label="Kind">
      ${KINDS.map(
        (one) => html`
          <button
            key=${one}
            type="button"
            aria-pressed=${one === kind ? 'true' : 'false'}
            onClick=${() => turn(one)}
          >
            ${`${TITLES[one]} `}<span class="count">${offer[one].length}</span>
          </button>
        `,
      )}
    </div>
  `
}

function Names(props: {
  readonly of: readonly Item[]
  readonly chosen: Item | null
  readonly choose: (item: Item) => void
}): VNode {
  const { of, chosen, choose } = props
  return html`
    <ul>
      ${of.map(
        (item) => html`
          <li key=${`${item.kind} ${nameOf(item)}`}>
            <button
              type="button"
              aria-current=${isSame(item, chosen) ? 'true' : undefined}
              onClick=${() => choose(item)}
            >
              <span class="mono">${nameOf(item)}</span>${' '}
              <span class="dim">${item.title || item.description}</span>
            </button>
          </li>
        `,
      )}
    </ul>
  `
}

export function nameOf(item: Item): string {
  return item.kind === 'resource' || item.kind === 'template' ? item.uri : item.name
}

export function isSame(one: Item, other: Item | null): boolean {
  return other !== null && one.kind === other.kind && nameOf(one) === nameOf(other)
}

function textsOf(item: Item): string[] {
  return [nameOf(item), item.name, item.title, item.description]
}
