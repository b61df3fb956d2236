// What policies and backends learn about an exchange, for expressions. A fact that is not known yet is absent: reading it
// in an expression is an error, and `has()` is false.

export interface ExchangeFacts {
  /** The claims of a verified token: `parseCelJson` of its payload, once per token. */
  jwt?: Claims | undefined
  /** The metadata of a verified API key. */
  apiKey?: Claims | undefined
  /** Identifies an API key; not for expressions. */
  apiKeyHash?: string | undefined
  /** Models that the key allows, each with at most one star; not for expressions. */
  allowedModels?: readonly string[] | undefined
  basicAuth?: { username: string } | undefined
  mcp?: McpFacts | undefined
  llm?: LlmFacts | undefined
  /** The entry of the port that accepted the request. */
  bind?: string | undefined
}

/** Facts of the selected backend. Made with the configuration, and the same for every request. */
export interface BackendFacts {
  readonly name: string
  readonly type: 'ai' | 'mcp' | 'static' | 'dynamic' | 'service' | 'unknown'
  readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
}

export interface McpItemFacts {
  target: string
  name: string
}

/** `arguments`, `result` and `error` are values of `JSON.parse`. */
export interface McpToolFacts extends McpItemFacts {
  arguments?: unknown
  result?: unknown
  error?: unknown
}

export interface McpFacts {
  /** For the log: the error of a failed call. */
  errorCode?: number | undefined
  errorText?: string | undefined
  methodName?: string | undefined
  sessionId?: string | undefined
  tool?: McpToolFacts | undefined
  prompt?: McpItemFacts | undefined
  resource?: McpItemFacts | undefined
  task?: McpItemFacts | undefined
}

/** Counts are whole numbers; `prompt`, `completion`, `toolCalls` and `params` are values of `JSON.parse`. */
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
  /** The operation, as OpenTelemetry names it; not for expressions. */
  operation?: string | undefined
  /** Set if a stream ended without its last event; not for expressions. */
  ending?: 'missing' | undefined
}

/** A JSON object for expressions: the claims of a token, or the fields of a key. */
export type Claims = ReadonlyMap<string, unknown>
