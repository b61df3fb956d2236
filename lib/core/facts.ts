// What policies and backends learn about an exchange and expressions may read. Each is filled in by whoever
// learns it; until then reading it is a fault, and `has()` says no.

export interface ExchangeFacts {
  /** The claims of a verified token: `parseCelJson` of its payload, done once per token. */
  jwt?: Claims | undefined
  /** What is known about a verified API key. */
  apiKey?: Claims | undefined
  /** Tells one key from another; not for expressions. */
  apiKeyHash?: string | undefined
  /** Models the key may ask for, each with at most one star; not for expressions. */
  allowedModels?: readonly string[] | undefined
  basicAuth?: { username: string } | undefined
  mcp?: McpFacts | undefined
  llm?: LlmFacts | undefined
  /** The port's entry that accepted the request. */
  bind?: string | undefined
}

/** Of the backend that was picked. Made with the plan, and the same for every request. */
export interface BackendFacts {
  readonly name: string
  readonly type: 'ai' | 'mcp' | 'static' | 'dynamic' | 'service' | 'unknown'
  readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
}

export interface McpItemFacts {
  target: string
  name: string
}

/** `arguments`, `result` and `error` as `JSON.parse` gave them. */
export interface McpToolFacts extends McpItemFacts {
  arguments?: unknown
  result?: unknown
  error?: unknown
}

export interface McpFacts {
  /** For the log: what a call was answered with when it failed. */
  errorCode?: number | undefined
  errorText?: string | undefined
  methodName?: string | undefined
  sessionId?: string | undefined
  tool?: McpToolFacts | undefined
  prompt?: McpItemFacts | undefined
  resource?: McpItemFacts | undefined
  task?: McpItemFacts | undefined
}

/** Counts are whole numbers; `prompt`, `completion`, `toolCalls`, `params` as `JSON.parse` gave them. */
export interface LlmFacts {
  streaming?: boolean | undefined
  requestModel?: string | undefined
  responseModel?: string | undefined
  provider?: string | undefined
  inputTokens?: number | undefined
  providerInputTokens?: number | undefined
  inputImageTokens?: number | undefined
  inputTextTokens?: number | undefined
  inputAudioTokens?: number | undefined
  cachedInputTokens?: number | undefined
  cacheCreationInputTokens?: number | undefined
  outputTokens?: number | undefined
  outputImageTokens?: number | undefined
  outputTextTokens?: number | undefined
  outputAudioTokens?: number | undefined
  reasoningTokens?: number | undefined
  totalTokens?: number | undefined
  providerTotalTokens?: number | undefined
  countTokens?: number | undefined
  serviceTier?: string | undefined
  timeToFirstToken?: string | undefined
  timePerOutputToken?: string | undefined
  prompt?: unknown
  completion?: unknown
  toolCalls?: unknown
  params?: unknown
  cost?: unknown
  costRates?: unknown
  /** What was asked for, in the words of OpenTelemetry; not for expressions. */
  operation?: string | undefined
  /** Of a stream that ended without its last event; not for expressions. */
  ending?: 'missing' | undefined
}

/** A JSON object for expressions: the claims of a token, the fields of a key. */
export type Claims = ReadonlyMap<string, unknown>
