// The variables that expressions may read, their fields and CEL types, and the locations of the configuration in which an
// expression may occur. Variables and fields are those of the configuration reference.

import { MAX_EVALUATION_WORK, MAX_WATCH_EVALUATION_WORK } from './meter.ts'

const HEADERS = 'map<string, string>'
const HEADER_VALUES = 'map<string, list<string>>'

export const CEL_FIELDS = {
  Request: {
    method: 'string',
    uri: 'string',
    host: 'string',
    scheme: 'string',
    path: 'string',
    pathAndQuery: 'string',
    version: 'string',
    headers: HEADERS,
    headerValues: HEADER_VALUES,
    startTime: 'string',
  },
  Source: { address: 'string', port: 'int' },
  Response: { code: 'int', headers: HEADERS, headerValues: HEADER_VALUES },
  Backend: { name: 'string', type: 'string', protocol: 'string' },
  Proxy: {
    bind: 'string',
    gateway: 'ProxyGateway',
    listener: 'ProxyListener',
    route: 'ProxyRoute',
  },
  ProxyGateway: { namespace: 'string', name: 'string' },
  ProxyListener: { name: 'string' },
  ProxyRoute: { namespace: 'string', name: 'string', kind: 'string' },
  Env: { podName: 'string', namespace: 'string', gateway: 'string' },
  BasicAuth: { username: 'string' },
  Mcp: {
    methodName: 'string',
    sessionId: 'string',
    tool: 'McpTool',
    prompt: 'McpItem',
    resource: 'McpItem',
    task: 'McpItem',
  },
  McpTool: { target: 'string', name: 'string', arguments: 'dyn', result: 'dyn', error: 'dyn' },
  McpItem: { target: 'string', name: 'string' },
  Llm: {
    streaming: 'bool',
    requestModel: 'string',
    responseModel: 'string',
    provider: 'string',
    inputTokens: 'int',
    providerInputTokens: 'int',
    inputImageTokens: 'int',
    inputTextTokens: 'int',
    inputAudioTokens: 'int',
    cachedInputTokens: 'int',
    cacheCreationInputTokens: 'int',
    outputTokens: 'int',
    outputImageTokens: 'int',
    outputTextTokens: 'int',
    outputAudioTokens: 'int',
    reasoningTokens: 'int',
    totalTokens: 'int',
    providerTotalTokens: 'int',
    countTokens: 'int',
    serviceTier: 'string',
    timeToFirstToken: 'string',
    timePerOutputToken: 'string',
    prompt: 'dyn',
    completion: 'dyn',
    toolCalls: 'dyn',
    params: 'dyn',
    cost: 'dyn',
    costRates: 'dyn',
  },
} as const satisfies Record<string, Record<string, string>>

export type CelShape = keyof typeof CEL_FIELDS

/** The type of each variable; claims have keys that are not known in advance. */
export const CEL_VARIABLES = {
  request: 'Request',
  source: 'Source',
  jwt: 'map<string, dyn>',
  apiKey: 'map<string, dyn>',
  basicAuth: 'BasicAuth',
  mcp: 'Mcp',
  llm: 'Llm',
  backend: 'Backend',
  response: 'Response',
  proxy: 'Proxy',
  env: 'Env',
} as const satisfies Record<string, CelShape | 'map<string, dyn>'>

export type CelVariable = keyof typeof CEL_VARIABLES

/** The fields of a type, or undefined for types without listed fields. */
export function celFieldsOf(type: string): Readonly<Record<string, string>> | undefined {
  return Object.hasOwn(CEL_FIELDS, type) ? CEL_FIELDS[type as CelShape] : undefined
}

/** Where an expression occurs. The location decides which variables the expression may read and the type of its value. */
export type ExpressionLocation =
  'rule' | 'requestLimitKey' | 'tokenLimitKey' | 'transformation' | 'log' | 'trace'

/** `key`: a value that can be converted to a string, so no list, map or bytes. */
export type ResultType = 'bool' | 'key' | 'any'

interface LocationRule {
  readonly variables: readonly CelVariable[]
  /** Variables that the expression may read, but that never have a value there. */
  readonly valueless?: readonly CelVariable[]
  readonly resultType: ResultType
  /** The work limit of one evaluation. */
  readonly maxWork: number
}

const REQUEST_VARIABLES = ['request', 'source', 'jwt', 'apiKey', 'basicAuth', 'env'] as const
const ALL_VARIABLES = [...REQUEST_VARIABLES, 'mcp', 'llm', 'backend', 'response', 'proxy'] as const

export const EXPRESSION_LOCATIONS: Readonly<Record<ExpressionLocation, LocationRule>> = {
  rule: {
    variables: [...REQUEST_VARIABLES, 'mcp', 'llm', 'backend', 'proxy'],
    resultType: 'bool',
    maxWork: MAX_EVALUATION_WORK,
  },
  // spec.md §8: a key that reads a value outside its context uses the shared bucket. Requests are counted before a body is read.
  requestLimitKey: {
    variables: [...REQUEST_VARIABLES, 'proxy'],
    valueless: ['llm', 'mcp', 'backend', 'response'],
    resultType: 'key',
    maxWork: MAX_EVALUATION_WORK,
  },
  tokenLimitKey: {
    variables: [...REQUEST_VARIABLES, 'llm', 'backend', 'proxy'],
    valueless: ['mcp', 'response'],
    resultType: 'key',
    maxWork: MAX_EVALUATION_WORK,
  },
  transformation: { variables: ALL_VARIABLES, resultType: 'any', maxWork: MAX_EVALUATION_WORK },
  log: { variables: ALL_VARIABLES, resultType: 'any', maxWork: MAX_EVALUATION_WORK },
  trace: { variables: ALL_VARIABLES, resultType: 'bool', maxWork: MAX_WATCH_EVALUATION_WORK },
}

const KEY_TYPES = new Set(['string', 'int', 'uint', 'double', 'bool', 'dyn'])

/** Whether a value of this CEL type is allowed for the location. */
export function isAllowedResultType(type: string, resultType: ResultType): boolean {
  // Variables such as `request` cannot be converted to text or JSON; their fields can.
  if (resultType === 'any') return celFieldsOf(type) === undefined
  if (resultType === 'bool') return type === 'bool' || type === 'dyn'
  return KEY_TYPES.has(type)
}
