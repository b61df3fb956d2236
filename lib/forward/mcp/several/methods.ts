// What the methods of MCP name: which of them list things, which use one, and where names stand in what they answer.

import { listItems, listMembers, readJsonString } from '../../../text/json-scan.ts'
import type { ByteSpan } from '../../../text/json-scan.ts'
import { foldEnvelopeName } from '../json-rpc.ts'
import type { RpcMessage } from '../json-rpc.ts'
import type { ItemKind } from './item-names.ts'

/** A list's key in its result, and where in an item its name stands; further places hold URIs of the same target. */
export interface ListMethod {
  readonly kind: ItemKind
  /** What a target must offer to be asked. */
  readonly capability: string
  readonly key: string
  readonly name: string
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
  /** The member of `params` that names it. */
  readonly param: string
  /** Where the result holds URIs and task ids of the target. */
  readonly results: readonly NamePath[]
}

/** Where a name of a kind stands. */
export interface NamePath {
  readonly kind: ItemKind
  readonly path: readonly string[]
}

const uriAt = (...path: string[]): NamePath => ({ kind: 'resource', path })
const taskAt = (...path: string[]): NamePath => ({ kind: 'task', path })

/** The task a message is about, whatever the message is. */
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

/** Asked of every target that offers it (any, if nothing is named); one empty answer for all. */
export const BROADCAST_METHODS: ReadonlyMap<string, string | null> = new Map([
  ['ping', null],
  ['logging/setLevel', 'logging'],
])

/** Where notifications of targets hold names. */
export const NAMES_IN_NOTIFICATIONS: ReadonlyMap<string, readonly NamePath[]> = new Map([
  ['notifications/resources/updated', [uriAt('uri')]],
  ['notifications/tasks/status', [taskAt('taskId')]],
])

/** Notifications that belong to no call, even if one is under way. */
export const SESSION_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/tasks/status',
])

// The one thing a request names: a tool, a prompt, a resource or a task.

export interface NamedItem {
  readonly kind: ItemKind
  /** The name as the client knows it, and where it stands. */
  readonly text: string
  readonly span: ByteSpan
  /** Where the answer holds names of the same target. */
  readonly results: readonly NamePath[]
}

const COMPLETION = 'completion/complete'

/** Whether requests of this method name one thing. */
export function namesItem(method: string): boolean {
  return ITEM_METHODS.has(method) || method === COMPLETION
}

/** What it names, or what is wrong with how it does. */
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
  return text === undefined ? 'a name is no text' : { ...rest, span, text }
}

/** A member that stands twice, or once more in other letters, could be read as another one by the target. */
function requireSingleMember(bytes: Buffer, object: ByteSpan, name: string): ByteSpan | string {
  const span = findSingleMember(bytes, object, name)
  return span ?? `params: '${name}' is missing`
}

/** How deep arguments are looked into. */
const MAX_ARGUMENT_DEPTH = 64

/** Whether some object in there has a member twice, so that rules and the target may read different ones. */
export function hasDuplicateMembers(bytes: Buffer, value: ByteSpan, depth = 0): boolean {
  if (depth > MAX_ARGUMENT_DEPTH) return true
  const members = listMembers(bytes, value)
  const names = new Set(members.map(({ key }) => foldEnvelopeName(key)))
  if (names.size < members.length) return true
  const inner = members.length > 0 ? members : listItems(bytes, value)
  return inner.some((one) => hasDuplicateMembers(bytes, one, depth + 1))
}

/** The same for one that may be missing. */
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
