// What an MCP server offers, as far as it can be read: each kind of list in pages, bounded.

import { faultWords, membersOf, objectsIn, textOf } from './messages.ts'
import type { Members } from './messages.ts'

export interface Tool {
  readonly kind: 'tool'
  readonly name: string
  readonly title: string
  readonly description: string
  readonly schema: unknown
  /** What it says of itself, such as `read only`. Nobody has checked it. */
  readonly hints: readonly string[]
}

export interface Prompt {
  readonly kind: 'prompt'
  readonly name: string
  readonly title: string
  readonly description: string
  /** As a schema, so that the same form does. */
  readonly schema: unknown
}

/** One thing to read, or many by a template. */
export interface Resource {
  readonly kind: 'resource' | 'template'
  /** Or the template. */
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
  /** What could not be had, and why. */
  readonly problems: readonly string[]
}

/** The lists there are. */
export type Kind = 'tools' | 'prompts' | 'resources'

type Ask = (method: string, params: Members) => Promise<Members>

/** Where the gateway tells of targets that are down. */
const FAILED = 'gateway/failedTargets'

const MAX_PAGES = 20
const MAX_ITEMS = 1_000

/** Only what the server says it has is asked for. */
export async function offerOf(request: Ask, capabilities: Members): Promise<Offer> {
  /** By what is not there: one reason for each is enough. */
  const problems = new Map<string, string>()
  const tell = (what: string, reason: string): void => {
    if (!problems.has(what)) problems.set(what, reason)
  }
  const ask = async (method: string, params: Members): Promise<Members> => {
    const answer = await request(method, params)
    // Of several targets some may be down, which is no error.
    for (const { target, reason } of objectsIn(membersOf(answer['_meta'])?.[FAILED]))
      tell(textOf(target), textOf(reason) || `${textOf(target)} does not answer`)
    return answer
  }
  const all = async (of: string, method: string, member: string): Promise<Members[]> => {
    if (membersOf(capabilities[of]) === null) return []
    try {
      return await pagesOf(ask, method, member)
    } catch (error) {
      tell(method, `${method}: ${faultWords(error)}`)
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
