// What the methods of MCP name: which of them list things, which use one, and where names stand in what they answer.

import type { ItemKind } from './names.ts'

/** A list's key in its result, and where in an item its name stands; further places hold URIs of the same target. */
export interface ListMethod {
  readonly kind: ItemKind
  /** What a target must offer to be asked. */
  readonly capability: string
  readonly key: string
  readonly name: string
  readonly uris: readonly (readonly string[])[]
}

export const LISTS: ReadonlyMap<string, ListMethod> = new Map<string, ListMethod>([
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
  readonly results: readonly Place[]
}

/** Where a name of a kind stands. */
export interface Place {
  readonly kind: ItemKind
  readonly path: readonly string[]
}

const uri = (...path: string[]): Place => ({ kind: 'resource', path })
const task = (...path: string[]): Place => ({ kind: 'task', path })

/** The task a message is about, whatever the message is. */
export const RELATED_TASK: Place = task('_meta', 'io.modelcontextprotocol/related-task', 'taskId')

const CONTENT = [
  uri('content', '[]', 'uri'),
  uri('content', '[]', 'resource', 'uri'),
  task('task', 'taskId'),
  RELATED_TASK,
]

const OF_RESOURCE = { kind: 'resource', param: 'uri', results: [] } as const
const OF_TASK = { kind: 'task', param: 'taskId', results: [task('taskId')] } as const

export const ITEMS: ReadonlyMap<string, ItemMethod> = new Map<string, ItemMethod>([
  ['tools/call', { kind: 'tool', param: 'name', results: CONTENT }],
  [
    'prompts/get',
    {
      kind: 'prompt',
      param: 'name',
      results: [
        uri('messages', '[]', 'content', 'uri'),
        uri('messages', '[]', 'content', 'resource', 'uri'),
      ],
    },
  ],
  ['resources/read', { ...OF_RESOURCE, results: [uri('contents', '[]', 'uri')] }],
  ['resources/subscribe', OF_RESOURCE],
  ['resources/unsubscribe', OF_RESOURCE],
  ['tasks/get', OF_TASK],
  ['tasks/cancel', OF_TASK],
  ['tasks/result', { ...OF_TASK, results: CONTENT }],
])

/** Asked of every target that offers it (any, if nothing is named); one empty answer for all. */
export const SHARED: ReadonlyMap<string, string | null> = new Map([
  ['ping', null],
  ['logging/setLevel', 'logging'],
])

/** Where notifications of targets hold names. */
export const NOTICES: ReadonlyMap<string, readonly Place[]> = new Map([
  ['notifications/resources/updated', [uri('uri')]],
  ['notifications/tasks/status', [task('taskId')]],
])

/** Notifications that belong to no call, even if one is under way. */
export const GENERAL: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/tasks/status',
])
