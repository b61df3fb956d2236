// The names expressions may read, the fields of each and their CEL types: one table for the check at load
// and for the views of an exchange. Names and fields are those of the configuration reference.

const HEADERS = 'map<string, dyn>'

export const FIELDS = {
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

export type Shape = keyof typeof FIELDS

/** What each name is; claims are maps whose keys only the token knows. */
export const NAMES = {
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
} as const satisfies Record<string, Shape | 'map<string, dyn>'>

export type Name = keyof typeof NAMES

/** The fields of a type, or undefined for types whose fields nobody lists. */
export function fieldsOf(type: string): Readonly<Record<string, string>> | undefined {
  return Object.hasOwn(FIELDS, type) ? FIELDS[type as Shape] : undefined
}
