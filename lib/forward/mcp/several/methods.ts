// Tables of MCP methods: which methods list items, which use one item, and where messages contain names.

import { listItems, listMembers, readJsonString } from '../../../text/json-scan.ts'
import type { ByteSpan } from '../../../text/json-scan.ts'
import { foldEnvelopeName } from '../json-rpc.ts'
import type { RpcMessage } from '../json-rpc.ts'
import type { ItemKind } from './item-names.ts'

export interface ListMethod {
  readonly kind: ItemKind
  /** The capability of targets that have the list. */
  readonly capability: string
  /** The key of the list in the result. */
  readonly key: string
  /** The member of an item that is its name. */
  readonly name: string
  /** Paths in an item to URIs of the same target. */
  readonly uris: readonly (readonly string[])[]
}

export const LIST_METHODS: ReadonlyMap<string, ListMethod> = new Map<string, ListMethod>([
  [
    'tools/list',
    {
      kind: 'tool',
      capability: 'tools',
      key: 'tools',
      name: 'name',
      uris: [
        ['_meta', 'ui', 'resourceUri'],
        ['_meta', 'ui/resourceUri'],
      ],
    },
  ],
  [
    'prompts/list',
    { kind: 'prompt', capability: 'prompts', key: 'prompts', name: 'name', uris: [] },
  ],
  [
    'resources/list',
    { kind: 'resource', capability: 'resources', key: 'resources', name: 'uri', uris: [] },
  ],
  [
    'resources/templates/list',
    {
      kind: 'resource',
      capability: 'resources',
      key: 'resourceTemplates',
      name: 'uriTemplate',
      uris: [],
    },
  ],
  ['tasks/list', { kind: 'task', capability: 'tasks', key: 'tasks', name: 'taskId', uris: [] }],
])

export interface ItemMethod {
  readonly kind: ItemKind
  /** The member of `params` that names the item. */
  readonly param: string
  /** Where the result contains URIs and task ids of the target. */
  readonly results: readonly NamePath[]
}

/** The path to a name of this kind. */
export interface NamePath {
  readonly kind: ItemKind
  readonly path: readonly string[]
}

const uriAt = (...path: string[]): NamePath => ({ kind: 'resource', path })
const taskAt = (...path: string[]): NamePath => ({ kind: 'task', path })

/** The related task that any message may name. */
export const RELATED_TASK_PATH: NamePath = taskAt(
  '_meta',
  'io.modelcontextprotocol/related-task',
  'taskId',
)

const CONTENT_PATHS = [
  uriAt('content', '[]', 'uri'),
  uriAt('content', '[]', 'resource', 'uri'),
  taskAt('task', 'taskId'),
  RELATED_TASK_PATH,
]

const RESOURCE_METHOD = { kind: 'resource', param: 'uri', results: [] } as const
const TASK_METHOD = { kind: 'task', param: 'taskId', results: [taskAt('taskId')] } as const

const ITEM_METHODS: ReadonlyMap<string, ItemMethod> = new Map<string, ItemMethod>([
  ['tools/call', { kind: 'tool', param: 'name', results: CONTENT_PATHS }],
  [
    'prompts/get',
    {
      kind: 'prompt',
      param: 'name',
      results: [
        uriAt('messages', '[]', 'content', 'uri'),
        uriAt('messages', '[]', 'content', 'resource', 'uri'),
      ],
    },
  ],
  ['resources/read', { ...RESOURCE_METHOD, results: [uriAt('contents', '[]', 'uri')] }],
  ['resources/subscribe', RESOURCE_METHOD],
  ['resources/unsubscribe', RESOURCE_METHOD],
  ['tasks/get', TASK_METHOD],
  ['tasks/cancel', TASK_METHOD],
  ['tasks/result', { ...TASK_METHOD, results: CONTENT_PATHS }],
])

/** Methods that go to every target with the capability (null: to all) and get one empty result. */
export const BROADCAST_METHODS: ReadonlyMap<string, string | null> = new Map([
  ['ping', null],
  ['logging/setLevel', 'logging'],
])

/** Where notifications of targets contain names. */
export const NAMES_IN_NOTIFICATIONS: ReadonlyMap<string, readonly NamePath[]> = new Map([
  ['notifications/resources/updated', [uriAt('uri')]],
  ['notifications/tasks/status', [taskAt('taskId')]],
])

/** Notifications that belong to the session, even while a call is open. */
export const SESSION_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/tasks/status',
])

/** The tool, prompt, resource or task that a request names. */
export interface NamedItem {
  readonly kind: ItemKind
  /** The client name and its span. */
  readonly text: string
  readonly span: ByteSpan
  /** Where the result contains names of the same target. */
  readonly results: readonly NamePath[]
}

const COMPLETION = 'completion/complete'

/** Whether requests of this method name an item. */
export function namesItem(method: string): boolean {
  return ITEM_METHODS.has(method) || method === COMPLETION
}

/** Returns the item that a request names, or the reason why it is invalid. */
export function parseNamedItem(message: RpcMessage): NamedItem | string {
  const { method, params, bytes } = message
  if (params === null) return 'params is missing'
  if (method === COMPLETION) return parseCompletionReference(message, params)
  const { kind, param, results } = ITEM_METHODS.get(method)!
  const span = requireSingleMember(bytes, params, param)
  return typeof span === 'string' ? span : readNamedItem(bytes, span, { kind, results })
}

function parseCompletionReference({ bytes }: RpcMessage, params: ByteSpan): NamedItem | string {
  const ref = requireSingleMember(bytes, params, 'ref')
  if (typeof ref === 'string') return ref
  const type = requireSingleMember(bytes, ref, 'type')
  if (typeof type === 'string') return type
  const kind = readJsonString(bytes, type) === 'ref/prompt' ? 'prompt' : 'resource'
  const span = requireSingleMember(bytes, ref, kind === 'prompt' ? 'name' : 'uri')
  return typeof span === 'string' ? span : readNamedItem(bytes, span, { kind, results: [] })
}

function readNamedItem(
  bytes: Buffer,
  span: ByteSpan,
  rest: Pick<NamedItem, 'kind' | 'results'>,
): NamedItem | string {
  const text = readJsonString(bytes, span)
  return text === undefined ? 'params: the name must be a string' : { ...rest, span, text }
}

function requireSingleMember(bytes: Buffer, object: ByteSpan, name: string): ByteSpan | string {
  const span = findSingleMember(bytes, object, name)
  return span ?? `params: '${name}' is missing`
}

/** Deeper arguments count as ambiguous. */
const MAX_ARGUMENT_DEPTH = 64

/** Whether any object in the value has a duplicate member, which rules and the target may read differently. */
export function hasDuplicateMembers(bytes: Buffer, value: ByteSpan, depth = 0): boolean {
  if (depth > MAX_ARGUMENT_DEPTH) return true
  const members = listMembers(bytes, value)
  const names = new Set(members.map(({ key }) => foldEnvelopeName(key)))
  if (names.size < members.length) return true
  const inner = members.length > 0 ? members : listItems(bytes, value)
  return inner.some((span) => hasDuplicateMembers(bytes, span, depth + 1))
}

/** Finds a member; a duplicate, or one in another case, is refused because the target may read the other one. */
export function findSingleMember(
  bytes: Buffer,
  object: ByteSpan,
  name: string,
): ByteSpan | string | undefined {
  const wanted = foldEnvelopeName(name)
  const [member, ...others] = listMembers(bytes, object).filter(
    ({ key }) => foldEnvelopeName(key) === wanted,
  )
  if (member === undefined) return undefined
  if (others.length > 0 || member.key !== name) return `params: '${name}' is ambiguous`
  return member
}
