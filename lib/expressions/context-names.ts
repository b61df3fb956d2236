// The names that expressions may read, their fields and CEL types, and the locations of the configuration in which an
// expression may occur. Names and fields are those of the configuration reference.

import { MAX_EVALUATION_WORK, MAX_WATCH_EVALUATION_WORK } from './meter.ts'

const HEADERS = 'map<string, dyn>'

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
    startTime: 'string',
  },
  Source: { address: 'string', port: 'int' },
  Response: { code: 'int', headers: HEADERS },
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

/** The type of each name; claims are maps whose keys only the token knows. */
export const CEL_NAMES = {
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

export type CelName = keyof typeof CEL_NAMES

/** The fields of a type, or undefined for types without listed fields. */
export function celFieldsOf(type: string): Readonly<Record<string, string>> | undefined {
  return Object.hasOwn(CEL_FIELDS, type) ? CEL_FIELDS[type as CelShape] : undefined
}

/** Where in the configuration an expression occurs; it decides the names it may read and the type of its value. */
export type ExpressionLocation =
  'rule' | 'requestLimitKey' | 'tokenLimitKey' | 'transformation' | 'log' | 'trace'

/** `key`: a value with one text, so no list, map or bytes. */
export type ResultType = 'bool' | 'key' | 'any'

interface LocationRule {
  readonly names: readonly CelName[]
  readonly resultType: ResultType
  /** The work limit of one evaluation. */
  readonly maxWork: number
}

const REQUEST = ['request', 'source', 'jwt', 'apiKey', 'basicAuth', 'env'] as const
const EVERYTHING = [...REQUEST, 'mcp', 'llm', 'backend', 'response', 'proxy'] as const

export const EXPRESSION_LOCATIONS: Readonly<Record<ExpressionLocation, LocationRule>> = {
  rule: {
    names: [...REQUEST, 'mcp', 'llm', 'backend', 'proxy'],
    resultType: 'bool',
    maxWork: MAX_EVALUATION_WORK,
  },
  // §8: checked before an LLM body is read. A key may read `llm` anyway; all requests share one bucket then.
  requestLimitKey: {
    names: [...REQUEST, 'llm', 'proxy'],
    resultType: 'key',
    maxWork: MAX_EVALUATION_WORK,
  },
  tokenLimitKey: {
    names: [...REQUEST, 'llm', 'backend', 'proxy'],
    resultType: 'key',
    maxWork: MAX_EVALUATION_WORK,
  },
  transformation: { names: EVERYTHING, resultType: 'any', maxWork: MAX_EVALUATION_WORK },
  log: { names: EVERYTHING, resultType: 'any', maxWork: MAX_EVALUATION_WORK },
  trace: { names: EVERYTHING, resultType: 'bool', maxWork: MAX_WATCH_EVALUATION_WORK },
}

const KEYS = new Set(['string', 'int', 'uint', 'double', 'bool', 'dyn'])

/** Whether a value of this CEL type is allowed for the location. */
export function isAllowedResultType(type: string, resultType: ResultType): boolean {
  // `request` itself has no text and no JSON; its fields have.
  if (resultType === 'any') return celFieldsOf(type) === undefined
  if (resultType === 'bool') return type === 'bool' || type === 'dyn'
  return KEYS.has(type)
}
